"""Who asks for a person in words, and who only asks about people. Written by us, after what visitors type elsewhere."""

import pytest

from gateway.conversation.person_asked import LONGEST, asks_for_a_person

ENGLISH = """
I want to talk to a human
Can I speak to a real person please?
can i talk to someone
I need a human
I'd like to speak with an agent
I would like to speak to a representative.
Please connect me to a human agent
transfer me to an agent
How can I talk to a person?
How do I talk to a human?
human please
Human!
agent
a real person please
Is there a real person I can talk to?
Put me through to someone
I want to speak to somebody from the team
could you connect me with a human being
Let me talk to a human
I'd rather talk to a person
I just want to talk to a real human
May I chat with an advisor?
This does not help. I want to talk to a human.
No, I want to speak with a person, please
I need to talk to someone about my invoice
I want to speak to customer service
Get me a human now
Give me a person, not a bot
I want to talk to a human instead of a bot
can I get a human?
I demand a real person
Hello, can I speak to an operator?
I need someone who can help me
I want to contact support
Talk to a human
"""
FRENCH = """
Je veux parler à un conseiller
Je voudrais parler à un humain
je veux parler à une vraie personne
Puis-je parler à quelqu’un ?
Puis-je parler à quelqu'un, s'il vous plaît ?
J’aimerais parler à quelqu’un de l’équipe
J'ai besoin de parler à un humain
J'ai besoin d'un conseiller
Est-ce que je peux parler à une personne ?
Comment parler à un humain ?
Comment puis-je parler à un conseiller ?
Comment je peux contacter une personne ?
Passez-moi un conseiller
Mettez-moi en relation avec un agent
Pouvez-vous me mettre en relation avec un conseiller ?
un humain
un conseiller svp
Un humain, s’il vous plaît !
une vraie personne
Il y a quelqu'un ?
Y a-t-il quelqu'un à qui parler ?
Je souhaite être mis en contact avec un conseiller
Je souhaiterais échanger avec un conseiller
Je veux un humain, pas un robot
Je préfère parler à un humain plutôt qu'à un robot
Ça ne m'aide pas. Je veux parler à quelqu’un.
Bonjour, je voudrais parler à un responsable
Je veux parler à un conseiller au sujet de ma facture
Est-il possible de parler à quelqu'un ?
Serait-il possible d'avoir un conseiller ?
Je veux contacter le support
je veux parler au support
On peut parler à un humain ?
Transférez-moi à un agent
Parler à un conseiller
Je voudrais voir quelqu’un qui peut m’aider
"""
SPANISH = """
¿Cómo hablo con una persona?
Quiero hablar con una persona
quiero hablar con un humano
Quisiera hablar con un agente
Me gustaría hablar con alguien
Necesito hablar con alguien del equipo
¿Puedo hablar con una persona real, por favor?
¿Podría hablar con un asesor?
¿Se puede hablar con alguien?
Necesito un humano
Necesito una persona
Páseme con un agente
Pásame con una persona
Póngame en contacto con un asesor
¿Puede ponerme en contacto con una persona?
Comuníqueme con un representante
Transfiérame a un agente
¿Cómo puedo hablar con un agente?
¿Cómo puedo contactar con una persona?
¿Hay alguien ahí?
¿Hay alguien con quien pueda hablar?
un humano
un agente por favor
una persona real
Prefiero hablar con una persona
Quiero hablar con una persona, no con un robot
Esto no me ayuda. Quiero hablar con una persona.
Hola, quiero hablar con un operador
Quiero hablar con alguien sobre mi factura
¿Es posible hablar con un empleado?
Quiero que me atienda una persona
Solo quiero hablar con alguien
Quiero hablar con atención al cliente
Hablar con una persona
Necesito a alguien que me pueda ayudar
"""
NOT_ENGLISH = """
How do I contact the human resources department?
What does an agent do?
Can a person have two accounts?
How many people can use it?
I don't want to talk to a human
Who is the contact person for invoices?
How do I add a person to my team?
Can I talk to a person by phone on Saturdays?
When can I speak to an agent?
I want to talk to a human resources manager
How do I assign an agent?
What is a human agent?
How does the assistant pass me to a human?
Do I have to talk to someone before I cancel?
I need a person to sign the form
Can I speak to my child's teacher in French?
I want to contact my neighbour
How to contact support by e-mail
How do I get support?
What are the hours of customer service?
Can I get a refund?
Is there a limit?
Is there someone in charge of security?
I want a person's address removed
How do I transfer an account to another person?
What happens when I talk to a human?
Why should I talk to a person?
Someone used my card
A person called me yesterday
Is a human reading this?
What should I reply to "I want to talk to a human"?
How do I connect an agent to the server?
Which agent is installed?
I need an agent installed on my server
"""
NOT_FRENCH = """
Comment contacter le service des ressources humaines ?
Je ne veux pas parler à un conseiller
Comment devenir conseiller ?
Quels sont les horaires des conseillers ?
Quand puis-je parler à un conseiller ?
Une personne peut-elle avoir deux comptes ?
Combien de personnes peuvent l'utiliser ?
Qui est la personne à contacter ?
Comment ajouter une personne à mon équipe ?
Je veux parler à mon voisin
Un agent est-il installé ?
Comment installer un agent ?
Comment contacter le support par courriel ?
Quel est le numéro du service client ?
Je veux être humain
Faut-il parler à un conseiller avant de résilier ?
Je veux changer de conseiller
Comment joindre une pièce ?
Je veux joindre un document
Je voudrais avoir une facture
Je veux voir mes factures
Quelqu'un a utilisé ma carte
Il y a quelqu'un qui a utilisé ma carte
Comment parler à un conseiller par téléphone ?
Je veux parler à un conseiller bancaire du Canada
Qu'est-ce qu'un conseiller ?
Pourquoi parler à un humain ?
Le responsable peut-il modifier un document ?
Je voudrais une personne de plus sur mon contrat
Est-ce qu'un humain lit mes messages ?
Que répondre à « je veux parler à un humain » ?
Comment transférer mon compte à une personne ?
Je cherche le responsable de la sécurité
"""
NOT_SPANISH = """
¿Cómo contacto con el departamento de recursos humanos?
No quiero hablar con una persona
¿Qué hace un agente?
¿Cuándo puedo hablar con un agente?
¿Cuántas personas pueden usarlo?
¿Puede una persona tener dos cuentas?
¿Quién es la persona de contacto?
¿Cómo añado una persona a mi equipo?
Quiero hablar con mi vecino
¿Cómo instalo un agente?
¿Cuál es el horario de atención al cliente?
¿Cómo contactar con soporte por correo?
¿Hay que hablar con alguien antes de cancelar?
Necesito una factura
Quiero una persona más en mi contrato
Alguien usó mi tarjeta
¿Hay alguien que use mi cuenta?
¿Puedo hablar con una persona por teléfono el sábado?
¿Qué es un asesor?
¿Por qué hablar con un humano?
¿Cómo transfiero mi cuenta a otra persona?
Un agente me llamó ayer
¿Un humano lee mis mensajes?
Quiero cambiar de asesor
¿Cómo llego a ser agente?
¿Qué responder a «quiero hablar con una persona»?
¿Hay un límite de personas?
Quiero ser humano
No puedo hablar con un agente
Busco el agente de la red
¿Puedo hablar en francés?
Quiero hablar con recursos humanos
¿Se puede usar sin un agente?
"""


def lines(text):
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize("message", [*lines(ENGLISH), *lines(FRENCH), *lines(SPANISH)])
def test_who_asks_for_a_person_is_understood(message):
    assert asks_for_a_person(message)


@pytest.mark.parametrize("message", [*lines(NOT_ENGLISH), *lines(NOT_FRENCH), *lines(NOT_SPANISH), "", "?", "🙂"])
def test_a_question_about_people_is_an_ordinary_question(message):
    assert not asks_for_a_person(message)


def test_a_long_story_is_not_looked_at():
    assert not asks_for_a_person("I want to talk to a human. " + "x" * LONGEST)


@pytest.mark.parametrize("words", [ENGLISH, FRENCH, SPANISH, NOT_ENGLISH, NOT_FRENCH, NOT_SPANISH])
def test_each_language_has_thirty_sentences_on_either_side(words):
    assert len(set(lines(words))) >= 30
