"""Lo que dice el servidor, en español."""

from typing import Final

TEXTS: Final = {
    "support_ai_clarify": (
        "No he encontrado respuesta a esta pregunta en los documentos. "
        "¿Puede formularla de otra manera, con otras palabras o algo más de detalle?"
    ),
    "support_suggest_escalation": (
        "Sigo sin encontrar una respuesta en los documentos. Una persona del equipo puede ayudarle."
    ),
    "support_offer_person": (
        "Una persona del equipo puede continuar esta conversación. Pulse el botón de abajo; "
        "después, el asistente calla."
    ),
    "support_clarify_connector": (
        "¿Dónde debo buscar?\n\n{options}\n\nResponda con el número, de 1 a {count}, o con el nombre."
    ),
    "support_clarify_search": (
        "No hay resultados para «{terms}» en {service}. Puede:\n\n{options}\n\nO escriba directamente otro término."
    ),
    "support_clarify_search_term": (
        "No hay resultados para «{terms}» en {service}. Escriba otro término de búsqueda para volver a intentarlo."
    ),
    "support_clarify_again": "No entendí esa elección. Responda con un solo número, de 1 a {count}:\n\n{options}",
    "support_clarify_expired": "Esa pregunta había caducado; aquí está de nuevo, de 1 a {count}:\n\n{options}",
    "support_notice_not_ready": (
        "No se puede contactar con el asistente en este momento. "
        "Su mensaje queda guardado; inténtelo dentro de un momento."
    ),
    "support_notice_budget_exhausted": (
        "El asistente ha alcanzado por ahora su límite de uso. Su mensaje queda guardado."
    ),
    "support_notice_provider": (
        "El servicio que redacta las respuestas no ha podido responder. "
        "Su mensaje queda guardado; inténtelo dentro de un momento."
    ),
    "support_notice_input_too_large": "Esta conversación es ya demasiado larga para el asistente: empiece una nueva.",
    "support_notice_deadline": (
        "La respuesta ha tardado demasiado y se ha abandonado. Su mensaje queda guardado; inténtelo de nuevo."
    ),
    "support_notice_failed": (
        "El asistente no ha podido responder. Su mensaje queda guardado; inténtelo dentro de un momento."
    ),
    "support_notice_interrupted": (
        "La respuesta se ha interrumpido y no puede continuar. Su mensaje queda guardado; haga la pregunta de nuevo."
    ),
    "support_notice_stopped": "Respuesta detenida a petición suya.",
    "support_notice_truncated": "Esta respuesta se cortó antes de terminar.",
    "support_ticket_opened": (
        "Su conversación se ha pasado al equipo y el asistente calla desde ahora. "
        "Puede seguir escribiendo aquí: alguien lo leerá y le responderá."
    ),
    "support_ticket_taken_over": "{name}, del equipo, se ha unido a la conversación. El asistente calla desde ahora.",
    "support_ticket_assigned": "{name}, del equipo, se ocupa de su solicitud.",
    "support_ticket_resolved": (
        "El equipo ha marcado esta solicitud como resuelta. El asistente vuelve a responder; "
        "pida una persona cuando la necesite."
    ),
    "support_ticket_reopened": "El equipo ha retomado esta solicitud. El asistente calla.",
    "support_ticket_opened_for_staff": "El visitante ha pedido una persona. El asistente calla desde ahora.",
    "support_ticket_taken_over_for_staff": "{name} se ha unido a la conversación. El asistente calla desde ahora.",
    "support_ticket_assigned_for_staff": "{name} se ocupa de este ticket.",
    "support_ticket_resolved_for_staff": "Ticket resuelto. El asistente vuelve a responder al visitante.",
    "support_ticket_reopened_for_staff": "Ticket reabierto. El asistente calla.",
    "support_notification_reply": "{name}, del equipo, le ha respondido.",
    "support_notification_resolved": "Su solicitud se ha marcado como resuelta.",
    "support_notification_reopened": "Su solicitud se ha retomado.",
    "support_notification_assigned": "{name} le ha confiado un tique: {title}",
}
