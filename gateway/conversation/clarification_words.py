"""The closed vocabulary of replies to a clarification, in the three languages at once: people mix them.

All words are folded (`shared.text.fold`). A reply is a choice only when every word of it is known here or belongs to
an option, so a word added here can only make selections, never hide a negation: none is listed among the leads.
"""

from __future__ import annotations

from typing import Final


def _phrases(text: str) -> tuple[str, ...]:
    """Split a comma-separated list."""
    return tuple(phrase.strip() for phrase in text.split(","))


def _starts(text: str) -> tuple[tuple[str, ...], ...]:
    """Split a comma-separated list of word sequences."""
    return tuple(tuple(phrase.split()) for phrase in _phrases(text))


CARDINALS: Final = {
    **dict.fromkeys(("un", "une", "one", "uno", "una"), 1),
    **dict.fromkeys(("deux", "two", "dos"), 2),
    **dict.fromkeys(("trois", "three", "tres"), 3),
    **dict.fromkeys(("quatre", "four", "cuatro"), 4),
    **dict.fromkeys(("cinq", "five", "cinco"), 5),
    **dict.fromkeys(("six", "seis"), 6),
    **dict.fromkeys(("sept", "seven", "siete"), 7),
    **dict.fromkeys(("huit", "eight", "ocho"), 8),
    **dict.fromkeys(("neuf", "nine", "nueve"), 9),
    **dict.fromkeys(("dix", "ten", "diez"), 10),
}
"""Number words; alone, after an option word, or after a French or Spanish article."""

ORDINALS: Final = {
    **dict.fromkeys(("premier", "premiere", "first", "primero", "primera", "primer"), 1),
    **dict.fromkeys(("deuxieme", "second", "seconde", "segundo", "segunda"), 2),
    **dict.fromkeys(("troisieme", "third", "tercero", "tercera", "tercer"), 3),
    **dict.fromkeys(("quatrieme", "fourth", "cuarto", "cuarta"), 4),
    **dict.fromkeys(("cinquieme", "fifth", "quinto", "quinta"), 5),
    **dict.fromkeys(("sixieme", "sixth", "sexto", "sexta"), 6),
    **dict.fromkeys(("septieme", "seventh", "septimo", "septima"), 7),
    **dict.fromkeys(("huitieme", "eighth", "octavo", "octava"), 8),
    **dict.fromkeys(("neuvieme", "ninth", "noveno", "novena"), 9),
}
LAST: Final = frozenset({"dernier", "derniere", "last", "ultimo", "ultima"})
ORDINAL_SUFFIXES: Final = frozenset(
    {"e", "er", "ere", "re", "eme", "ieme", "nd", "nde", "st", "rd", "th", "ro", "ra", "do", "da", "to", "ta"}
)

ARTICLES: Final = frozenset({"le", "la", "l", "el", "lo"})
"""Articles that may stand before any number. English `the` is apart: "the one" and "the two" are not choices."""
THE: Final = "the"
OPTION_WORDS: Final = frozenset(
    {"#", "numero", "number", "num", "nr", "nro", "option", "opcion", "choix", "choice", "reponse", "answer"}
    | {"respuesta", "proposition", "suggestion", "sugerencia"}
)
CHOOSING: Final = frozenset(
    {"choisis", "choisir", "choisissez", "choose", "pick", "select", "elijo", "elige", "escojo", "escoge"}
    | {"selectionne", "selectionner", "opte"}
)
FILLERS: Final = frozenset(
    {"ok", "okay", "oui", "yes", "yep", "si", "bon", "alors", "donc", "plutot", "so", "then", "rather", "vale", "pues"}
    | {"bueno", "entonces", "mejor", "euh", "uh", "um", "hum", "eh", "moi", "please", "stp", "svp"}
)
TAKING: Final = frozenset(
    {"je", "j", "i", "ll", "d", "yo", "veux", "voudrais", "prends", "prendrai", "prendrais", "want", "like", "would"}
    | {"take", "use", "try", "lets", "let", "s", "us", "go", "with", "for", "utilise", "utilisez", "essaie", "essaye"}
    | {"essayez", "va", "pour", "quiero", "quisiera", "tomo", "usa", "usar", "utiliza", "prueba", "probemos", "vamos"}
    | {"con", "me", "quedo", "vais", "prendre", "prefere", "prefiero", "prefer", "preferirais"}
)
"""After these a bare number could be an amount ("je veux 2"), so only a name or an article may follow."""
PREPOSITIONS: Final = frozenset(
    {"sur", "dans", "avec", "chez", "via", "en", "on", "in", "from", "at", "using", "por", "desde", "dentro", "de"}
    | {"to", "a", "au", "du", "par", "side", "cote"}
)
PLACES: Final = frozenset(
    {"sur", "dans", "avec", "chez", "via", "en", "on", "in", "from", "at", "using", "desde", "dentro", "con", "with"}
)
"""Prepositions that turn "cherche …" from a term into a place."""
SEARCHING: Final = frozenset(
    {"cherche", "chercher", "cherchez", "recherche", "rechercher", "search", "look", "busca", "buscar", "busque"}
    | {"buscalo", "regarde", "regarder", "mira"}
)
"""Before a service's name these need a place ("cherche sur Jellyfin"); before a suggested word they do not."""
JUST: Final = frozenset({"juste", "just", "only", "seulement", "solo", "solamente", "uniquement"})

TAILS: Final = frozenset(
    {"please", "thanks", "thx", "merci", "stp", "svp", "gracias", "pls", "plz", "plutot", "alors", "instead", "then"}
    | {"mejor", "ok", "okay", "favor", "por", "s", "il", "te", "vous", "plait", "thank", "you", "donc", "entonces"}
)
THANKS: Final = frozenset({"thanks", "thx", "merci", "gracias", "thank", "you"})
"""Tails that never lead: "merci pour le 1" chooses nothing."""
ORDINAL_TAILS: Final = frozenset(
    {"one", "option", "choix", "choice", "opcion", "service", "servicio", "proposition", "suggestion", "sugerencia"}
    | {"de", "la", "liste", "lista", "of", "in", "on", "the", "list", "dans"}
)
ALONE: Final = frozenset({"seul", "seule", "alone", "only", "solo", "sola", "uniquement", "seulement", "solamente"})
CONJUNCTIONS: Final = frozenset({"ou", "or", "et", "and", "o", "y", "u", "e", "&", "+"})

SEVERAL: Final = frozenset(
    _phrases(
        """
    les deux, les 2, les trois, les 3, both, both of them, the two, all, all of them, tous, toutes, tout,
    tous les deux, toutes les deux, partout, everywhere, los dos, las dos, ambos, ambas, todos, todas, todo,
    en todos, en todas partes, any, any of them, either, peu importe, n importe, n importe lequel, n importe ou,
    cualquiera, l un ou l autre, sur les deux, on both, en los dos, en ambos, either one, l un des deux,
    uno de los dos, dans les deux, in both
    """
    )
)
"""Whole replies that mean more than one option."""

OTHER_SERVICE: Final = frozenset(
    _phrases(
        """
    un autre service, autre service, un autre, ailleurs, sur un autre service, dans un autre service,
    chercher sur un autre service, cherche sur un autre service, chercher ailleurs, cherche ailleurs, autre part,
    another service, other service, a different service, different service, elsewhere, somewhere else,
    search another service, search elsewhere, on another service, in another service, search on another service,
    try another service, otro servicio, en otro servicio, otro, en otra parte, buscar en otro servicio,
    busca en otro servicio, otro sitio, en otro sitio, un autre service stp, another one, otra parte,
    un otro servicio, essaie un autre service, prueba otro servicio, another service please,
    otro servicio por favor, try elsewhere, essaie ailleurs, search in another service
    """
    )
)

TERM_LEADS: Final = _starts(
    """
    essaie avec, essaye avec, essayez avec, try with, try searching for, search for, look for, prueba con,
    intenta con, recherche plutot, cherche plutot, cherche juste, busca mejor, plutot, essaie, essaye, essayez,
    cherche, cherchez, recherche, chercher, rechercher, try, search, rather, busca, buscar, prueba, mejor, juste,
    just, solo
    """
)
"""What may stand before a new search term; longest first."""
TERM_TAILS: Final = _starts(
    """
    s il te plait, s il vous plait, por favor, plutot, instead, please, stp, svp, merci, gracias, thanks, mejor,
    alone, seul, tout seul
    """
)

NOT_A_TERM: Final = frozenset(
    _phrases(
        """
    bonjour, bonsoir, salut, coucou, hello, hi, hey, hello there, hi there, good morning, good evening,
    good afternoon, hola, buenas, buenos dias, buenas tardes, buenas noches, bonjour a vous, salut a toi,
    re bonjour, rebonjour, yo, hey there, hola que tal, au revoir, bye, goodbye, adios, annule, annuler, annulez,
    laisse tomber, laissez tomber, laisse, tant pis, stop, arrete, oublie, arretez, oublie ca, oubliez, oublie cela,
    c est bon, ca ira, abandonne, abandonner, cancel, cancel that, cancel it, never mind, nevermind, forget it,
    forget about it, forget that, skip, quit, exit, abort, drop it, leave it, cancela, cancelar, cancelalo,
    olvidalo, olvidate, dejalo, da igual, no importa, para, basta, ya no, dejalo estar, stop it, peu importe,
    whatever, non, non merci, no, no thanks, no thank you, no gracias, nope, nah, rien, rien du tout, aucun, aucune,
    aucun des deux, none, none of them, none of these, neither, nothing, nada, ninguno, ninguna, ninguno de ellos,
    pas du tout, not at all, ni l un ni l autre, aucun des trois, merci, merci beaucoup, thanks, thank you,
    thanks a lot, gracias, muchas gracias, ok, okay, d accord, daccord, oui, yes, si, vale, super, parfait, perfect,
    great, bien, genial, ok merci, ok thanks, cool, entendu, de acuerdo, oui merci, yes please, ouais, yep, claro,
    aide, aide moi, aidez moi, a l aide, help, help me, ayuda, ayudame, menu, un humain, humain, human, a human,
    un agent, agent, operator, un conseiller, conseiller, support, humano, un humano, una persona, quelqu un,
    someone, a person, a real person, operador, un agente, agente, attends, attendez, wait, espera, un moment,
    une minute, one moment, one moment please, un momento, une seconde, one second, un segundo, hold on,
    just a moment, deux minutes, two minutes, dos minutos, je ne sais pas, i don t know, no se, no lo se, idk, jsp,
    aucune idee, no idea, ni idea, lol, haha, mdr, hmm, test, first of all, d abord, en primer lugar
    """
    )
)
"""Whole replies that are never a search term, folded and without punctuation."""

QUESTION_STARTS: Final = _starts(
    """
    comment, pourquoi, quand, combien, est ce, qu est, qui est, que faire, c est quoi, ou est, ou sont, ou trouver,
    ou puis, quel est, quelle est, quels sont, quelles sont, puis je, peux tu, peut on, pouvez vous, pourriez vous,
    pourrais tu, as tu, avez vous, y a t, existe t, dois je, how, why, what is, what are, what s, what does,
    what do, what about, when is, when will, when do, where is, where are, where can, where do, who is, who are,
    which is, which one, can you, can i, could you, do you, does it, is there, are there, is it, have you, will you,
    would you, como, por que, cuando, cuanto, cuantos, que es, que son, que hago, donde esta, donde puedo, quien es,
    cual es, puedo, puedes, podria, podrias, puede, hay algun, tienes, se puede, es posible
    """
)
"""How a question begins without a question mark; narrow, so that titles such as "What Women Want" stay terms."""

SENTENCE_STARTS: Final = _starts(
    """
    je veux, je voudrais, je cherche, je ne, je n, je peux, je dois, je souhaite, je souhaiterais, je suis perdu,
    je pense, j ai, j aimerais, il y a, ca ne, ca marche, cela ne, parler a, parle moi, dis moi, dites moi,
    explique, expliquez, montre moi, mon compte, ma facture, merci de, merci mais, i want, i need, i have, i can,
    i cannot, i would, i d, i don, i m looking, i am looking, i think, i was, it doesn, it does, tell me, show me,
    explain, talk to, speak to, my account, my invoice, thanks but, let me, please help, quiero, necesito, quisiera,
    tengo, no puedo, no funciona, no quiero, no me, no se, hablar con, dime, explicame, muestrame, mi cuenta,
    mi factura, gracias pero, me gustaria, passe moi, mets moi, joue, play, pon, ouvre, open, abre, lance, allume,
    eteins, turn on, turn off, enciende, apaga
    """
)
"""How a request or a statement begins: a new message, not a search term."""

MORE_THAN_A_TERM: Final = 12
"""A reply of more words than this is a message, not a search term."""
NEGATION_STARTS: Final = frozenset({"pas", "non", "not", "no", "ni", "sauf", "except", "salvo", "excepto", "neither"})
NEGATION_START_WORDS: Final = 2
"""Up to this many words a reply that begins with a negation is a refusal ("pas alien"), past it a title
("No Country for Old Men")."""
GREETING_STARTS: Final = frozenset({"bonjour", "bonsoir", "salut", "coucou", "hello", "hi", "hola"})
TITLE_AFTER_GREETING: Final = frozenset({"tristesse", "dolly", "kitty", "cousins", "mary", "l"})
"""Known titles that begin with a greeting: "Bonjour tristesse", "Hello, Dolly!", "Hello Kitty", "Salut l'ami"."""
