"""The few sentences that the AI server itself says in an answer, in the languages that ship."""

from __future__ import annotations

from typing import Final

FALLBACK: Final = "en"

GREETING: Final = {
    "fr": "Bonjour ! Posez-moi votre question : je cherche la réponse dans la documentation et je cite mes sources.",
    "en": "Hello! Ask me your question: I look for the answer in the documentation and cite my sources.",
    "es": "¡Hola! Haga su pregunta: busco la respuesta en la documentación y cito mis fuentes.",
}
COURTESY: Final = {
    "fr": "Très bien. Je reste là si vous avez une autre question.",
    "en": "All right. I am here if you have another question.",
    "es": "Muy bien. Aquí estoy si tiene otra pregunta.",
}
NO_VISION: Final = {
    "fr": "Je ne peux pas regarder l’image avec le modèle utilisé ici : décrivez-moi ce qu’elle montre.",
    "en": "I cannot look at the image with the model in use here: please describe what it shows.",
    "es": "No puedo ver la imagen con el modelo que se usa aquí: describa lo que muestra.",
}
NOTHING_IN_FILES: Final = {
    "fr": "Dans {names}, je n’ai rien trouvé qui réponde à la question.",
    "en": "In {names} I found nothing that answers the question.",
    "es": "En {names} no he encontrado nada que responda a la pregunta.",
}
PASSAGES: Final = {
    "fr": "passages retenus : {count}",
    "en": "passages kept: {count}",
    "es": "pasajes retenidos: {count}",
}
ASKED: Final = {
    "fr": "La personne a demandé :",
    "en": "The person asked:",
    "es": "La persona preguntó:",
}


def said(texts: dict[str, str], language: str) -> str:
    """Pick a text in a language; English where it is not translated."""
    return texts.get(language, texts[FALLBACK])
