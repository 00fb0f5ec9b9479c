"""Words that tell what a message wants, in three languages at once, and examples of what is no search. All folded."""

from __future__ import annotations

from typing import Final

from ai_server.answering.intent_phrases import Phrases

SEARCH_LEADS: Final = Phrases.parse(
    """
    cherche, cherchez, chercher, recherche, rechercher, trouve, trouver, trouvez, retrouve, retrouver,
    cherche moi, trouve moi, peux tu chercher, peux tu trouver, peux tu me trouver, peux tu me chercher,
    pouvez vous chercher, pouvez vous trouver, pouvez vous me trouver, je cherche, je recherche,
    je voudrais trouver, je veux trouver, j aimerais trouver, je veux chercher, fais une recherche sur,
    fais une recherche, lance une recherche sur, tu peux chercher, tu peux trouver, va chercher, search,
    search for, find, find me, look for, look up, look, can you find, can you find me, can you search,
    can you search for, could you find, could you search for, please find, please search, i m looking for,
    i am looking for, i want to find, i need to find, i would like to find, do a search for, run a search for,
    search me, busca, buscar, buscame, busque, encuentra, encontrar, encuentrame, puedes buscar,
    puedes encontrar, puedes buscarme, podrias buscar, busco, estoy buscando, quiero encontrar, quiero buscar,
    haz una busqueda de, necesito encontrar
    """
)
"""How a request to search begins; politeness before it is dropped."""

WEAK_LEADS: Final = Phrases.parse(
    """
    montre moi, montre, affiche, liste, donne moi, show me, show, list, get me, muestra, muestrame, lista,
    dame, je veux voir, je voudrais voir, i want to see, i want to watch, i want to listen to, watch, play,
    listen to, je veux regarder, je voudrais regarder, je veux ecouter, regarder, ecouter, joue, mets,
    quiero ver, quiero escuchar, ver, escuchar, pon, open, ouvre, abre
    """
)
"""Verbs that ask for a search only when something a service holds follows: "montre les films", not "montre comment"."""

HAVING_LEADS: Final = Phrases.parse(
    """
    est ce qu on a, est ce que nous avons, est ce qu il y a, y a t il, a t on, avez vous, as tu, on a, il y a,
    do we have, do you have, is there, are there, have we got, tenemos, hay, tienes
    """
)
"""Questions whether something is there: a search when a kind of thing follows ("do we have the movie…")."""

WHERE_LEADS: Final = Phrases.parse(
    "ou est, ou sont, ou se trouve, ou se trouvent, where is, where are, donde esta, donde estan"
)
"""Questions where something is, which help pages may answer as well as a service."""

POLITE_LEADS: Final = Phrases.parse(
    """
    bonjour,
    bonsoir, salut, stp, svp, s il te plait, s il vous plait, merci de, hello, hi, hey, please, hola, por favor,
    ok, alors, dis, et, and, y
    """
)
POLITE_TAILS: Final = Phrases.parse(
    """
    stp, svp, s il te plait, s il vous plait, merci, merci d avance, please, thanks, thank you, por favor, gracias
    """
)

QUESTION_LEADS: Final = Phrases.parse(
    """
    comment, pourquoi, combien, quand, c est quoi, qu est ce que, qu est ce qu, a quoi sert, a quoi servent, puis je,
    peut on, est il possible, est ce possible, dois je, faut il, quelle est la difference, que faire, que veut dire,
    how, why, what is, what are, what does, what do, when, how much, how many, can i, may i, is it possible, should i,
    do i need, what happens, what s the difference, what should, como, por que, cuanto, cuando, que es, que son,
    que significa, para que sirve, puedo, se puede, es posible, debo, hay que, que hago, que pasa
    """
)
"""How a question to the documents begins."""

HOW_INSIDE: Final = frozenset({"comment", "pourquoi", "how", "why", "como"})
"""Right after a search verb these make a question: "cherche comment installer", "find out how to"."""

PLACES: Final = frozenset(
    {
        "sur",
        "dans",
        "chez",
        "via",
        "avec",
        "depuis",
        "on",
        "in",
        "from",
        "using",
        "with",
        "at",
        "en",
        "desde",
        "con",
        "de",
        "du",
        "au",
        "aux",
        "al",
    }
)
"""What may stand before a service's name when it is where to search."""

SURE_PLACES: Final = frozenset(
    {"sur", "dans", "chez", "au", "aux", "via", "on", "in", "at", "en", "al"},
)
"""Those that say where even without a verb of searching: "Gitane au stock", but not "un problème avec Nextcloud"."""

_TROUBLE: Final = """
    erreur erreurs probleme problemes panne pannes souci soucis impossible bloque bloquee plante lent lente lenteur
    marche fonctionne connexion connecter inscription prix tarif tarifs compte mot manque perdu perdue aide
    error errors problem problems trouble crash crashes slow broken fails failed failing failure works working login
    signin signup price prices pricing account password missing lost help
    errores problema problemas fallo fallos averia lento lenta bloqueado bloqueada funciona conexion precio precios
    cuenta contrasena falta perdido perdida ayuda
"""
TROUBLE: Final = frozenset(_TROUBLE.split())
"""Words of a question about a service itself, which the documents answer: "erreur sur Nextcloud"."""

ARTICLES: Final = frozenset(
    {
        "le",
        "la",
        "les",
        "l",
        "un",
        "une",
        "des",
        "du",
        "de",
        "d",
        "mon",
        "ma",
        "mes",
        "notre",
        "nos",
        "the",
        "a",
        "an",
        "my",
    }
    | {
        "our",
        "some",
        "any",
        "el",
        "los",
        "las",
        "lo",
        "unos",
        "unas",
        "una",
        "mi",
        "mis",
        "nuestro",
        "nuestra",
        "del",
        "al",
    }
    | {
        "sur",
        "pour",
        "avec",
        "dans",
        "about",
        "for",
        "of",
        "in",
        "on",
        "with",
        "sobre",
        "para",
        "con",
        "en",
        "ce",
        "cette",
    }
    | {
        "named",
        "called",
        "appele",
        "appelee",
        "nomme",
        "llamado",
        "llamada",
        "this",
        "that",
        "all",
        "tous",
        "toutes",
        "tout",
    }
    | {"todos", "todas", "au", "aux", "chez", "from"}
)
"""What is cut from both ends of search terms; inside they stay, because titles hold them."""

LINKS: Final = frozenset(
    {
        "de",
        "du",
        "des",
        "d",
        "del",
        "of",
        "by",
        "par",
        "por",
        "about",
        "sur",
        "sobre",
        "with",
        "avec",
        "con",
        "named",
        "for",
    }
    | {"called", "appele", "appelee", "nomme", "llamado", "llamada", "pour", "para", "from", "in", "en", "on", "dans"}
)
"""What links a hint to what is searched: "the file named minutes"."""

DOCUMENT_NAMES: Final = Phrases.parse(
    """
    documentation, la documentation, les docs, la doc, docs, the docs, the documentation, documentacion,
    la documentacion, l aide, the help pages, le guide, the guide, la guia, le manuel, the manual, el manual, la faq,
    the faq, faq
    """
)

CLOSING: Final = Phrases.parse(
    """
    merci, merci beaucoup, merci bien, un grand merci, ok merci, thanks, thank you, thanks a lot, ok thanks,
    thank you very much, gracias, muchas gracias, ok, okay, d accord, tres bien, parfait, super, genial, great,
    perfect, cool, vale, de acuerdo, bien, au revoir, bonne journee, bye, goodbye, see you, adios, hasta luego,
    laisse tomber, annule, annuler, never mind, cancel, olvidalo, cancela, tant pis, stop, non merci, no thanks,
    no gracias, c est bon
    """
)
"""Whole messages that end something and ask for nothing."""

DOCUMENT_EXAMPLES: Final = (
    "comment réinitialiser mon mot de passe ?",
    "comment installer l'application ?",
    "pourquoi mon compte est-il bloqué ?",
    "quelles sont les conditions de remboursement ?",
    "où puis-je changer mon adresse ?",
    "combien coûte l'abonnement ?",
    "quels documents faut-il pour une inscription ?",
    "le paiement ne fonctionne pas",
    "je n'arrive pas à me connecter",
    "quelle est la différence entre les deux formules ?",
    "qui peut accéder à mes données ?",
    "à quoi sert cette option ?",
    "je voudrais modifier mon contrat",
    "quel est le délai de livraison ?",
    "une erreur s'affiche à l'ouverture",
    "how do I reset my password?",
    "how can I install the app?",
    "why is my account locked?",
    "what is the refund policy?",
    "where can I change my address?",
    "how much does the subscription cost?",
    "which documents do I need to register?",
    "the payment does not work",
    "I cannot log in",
    "what is the difference between the two plans?",
    "who can see my data?",
    "what does this option do?",
    "I would like to change my contract",
    "how long does delivery take?",
    "an error appears",
    "¿cómo restablezco mi contraseña?",
    "¿cómo instalo la aplicación?",
    "¿por qué está bloqueada mi cuenta?",
    "¿cuáles son las condiciones de reembolso?",
    "¿dónde puedo cambiar mi dirección?",
    "¿cuánto cuesta la suscripción?",
    "¿qué documentos necesito para inscribirme?",
    "el pago no funciona",
    "no puedo iniciar sesión",
    "¿para qué sirve esta opción?",
    "¿quién puede ver mis datos?",
    "quisiera modificar mi contrato",
    "¿cuánto tarda la entrega?",
    "aparece un error",
    "quand a été construite la tour ?",
    "qui a écrit ce livre ?",
    "what year did the war end?",
    "who was the first president?",
    "what is the capital of the region?",
    "¿en qué año terminó la guerra?",
    "¿quién escribió la novela?",
    "how many people live there?",
    "quelle est la cause de la maladie ?",
    "what did the author say about the treaty?",
    "combien d'habitants compte la ville ?",
)
"""What documents are asked, about whatever subject: the examples that a request for a service is told apart from."""
