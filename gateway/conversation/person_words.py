"""The phrases with which people ask for a person, in French, English and Spanish, folded and without punctuation.

A phrase is a small pattern: `(a|b)` chooses, `(a|)` may be left out. `*_PERSON` names somebody, never a department or a
document: "a human" and not "human resources", "un conseiller" and not "le service client".
"""

from typing import Final

FILLERS: Final = (
    "hello|hi|hey|good morning|please|ok|okay|yes|sorry|well|so|then|but|and|just|now|actually|thanks|thank you|"
    "bonjour|bonsoir|salut|s il vous plait|s il te plait|svp|stp|oui|non|d accord|desole|desolee|alors|mais|et|merci|"
    "merci beaucoup|merci d avance|hola|buenos dias|buenas tardes|buenas|por favor|si|vale|perdon|lo siento|pues|"
    "entonces|pero|y|gracias|muchas gracias"
)
"""What may stand before and after a request without changing it. Not "no": "no quiero" is a refusal."""

TAILS: Final = (
    "now|right now|immediately|urgently|asap|as soon as possible|here|instead|directly|today|again|"
    "(who can|to|that can) (help|answer|assist|explain)( me| my question| this)?|"
    "(and |)not (to |with |)(a |another |this |)(bot|robot|chatbot|machine|computer|ai)|"
    "(instead of|rather than) (to |with |)(a|the|this|an) (bot|robot|chatbot|machine|computer|ai|assistant)|"
    "maintenant|tout de suite|immediatement|en urgence|au plus vite|rapidement|ici|plutot|directement|aujourd hui|"
    "(qui (peut|puisse|pourrait)|pour) (m |nous )?(aider|repondre|me repondre|expliquer|m expliquer)|"
    "(et |)(pas|non) (a |avec |)(un|une|ce|cette|l) (robot|bot|chatbot|machine|ordinateur|ia)|"
    "(plutot qu|au lieu d|a la place d) ?(a |avec |)(e |)(un|une|du|la) (robot|bot|chatbot|machine|assistant|ia)|"
    "ahora|ahora mismo|ya|inmediatamente|urgentemente|cuanto antes|lo antes posible|aqui|directamente|hoy|"
    "(que|quien) (me |)(pueda|puede) (ayudar|ayudarme|responder|responderme|atender|atenderme)|"
    "para que me (ayude|atienda|responda)|"
    "(y |)no (con |a |)(un|una|este|esta|el|la) (robot|bot|chatbot|maquina|ordenador|ia)|"
    "en (vez|lugar) de (con |a |)(un|una|este|esta|el|la) (robot|bot|chatbot|maquina|asistente|ia)"
)
ABOUT: Final = (
    "about|regarding|concerning|au sujet d|au sujet de|a propos de|a propos d|concernant|pour ma|pour mon|pour mes|"
    "sobre|acerca de|respecto a"
)
"""What begins the matter that a person is wanted for; only after a wish that is said outright."""

EN_PERSON: Final = (
    "(human|humans|(a|an|any|another|some|the) )?(real |live |actual |human |living |)"
    "(human|human being|person|agent|support agent|representative|rep|advisor|adviser|operator|employee|"
    "staff member|team member|support person|colleague)|"
    "((a|your) )?(member of (the |your |)(staff|team))|(real|actual|live) (people|humans)|"
    "(someone|somebody|anyone|anybody)( real| human| else)?"
    "( (from|in|on|of) (the |your |)(team|support|support team|staff))?"
)
EN_TEAM: Final = (
    "(the |your |)(support|support team|customer support|customer service|customer care|helpdesk|help desk|team|staff)"
)
EN_WISH: Final = (
    "i (really |just |only |still |)(want|wish|need|prefer|have|must|would like|d like|would prefer|d prefer)( to)?|"
    "i (would |d )?rather|id like to|(can|could|may) (i|we)( please)?|(we|we d) (want|need|like|would like)( to)?|"
    "(can|could|would|will) you( please)?|(please )?let me|is (it possible|there a way|there any way) to|i wanna"
)
EN_TALK: Final = (
    "(speak|talk|chat)( directly)? (to|with)|contact|reach|be (connected|transferred|put through) (to|with)|"
    "be put in (touch|contact) with|get (in touch|hold|through|connected|transferred)( with| to| of)?"
)
EN_HAND: Final = (
    "(connect|transfer|pass|forward|hand|escalate|switch|redirect|refer)( me| this| us| it)?( over)? (to|with)|"
    "put me (through to|in touch with|in contact with|on to)|get me( through to)?|give me|bring me|find me|call me"
)
EN_HAVE: Final = "i (really |just |still |)(want|need|would like|d like|demand)|can i (have|get)|could i (have|get)"
EN_HOW: Final = "how (do|can|could|should|would) (i|we|one)|how to|what do i do to"
EN_THERE: Final = "is there|are there"

FR_PERSON: Final = (
    "(un |une |d un |d une |qu un |)(vrai |vraie |veritable |autre |)"
    "(humain|humaine|personne|conseiller|conseillere|agent|operateur|operatrice|interlocuteur|"
    "collaborateur|technicien|technicienne|responsable|employe|teleconseiller)"
    "( humain| humaine| reel| reelle| physique| en chair et en os)?( du support| de l equipe| de votre equipe)?|"
    "quelqu un( de reel| de vrai| d humain| d autre| de l equipe| de votre equipe| du support| de chez vous)?|"
    "(un|une) (membre|personne) de (l|votre) equipe|(un|d un) etre humain|de vraies personnes|de vrais humains"
)
FR_TEAM: Final = (
    "(au support|au service client|au sav|l equipe|votre equipe|le support|le service client|l assistance|le sav|"
    "le service apres vente)"
)
FR_WISH: Final = (
    "je (veux|voudrais|souhaite|souhaiterais|desire|prefere|prefererais|dois|peux|veux juste|voudrais juste)( bien)?|"
    "j (aimerais|aimerais bien|ai besoin de|ai besoin d|exige de|demande a)|(puis|pourrais|peux) je|"
    "est ce que (je (peux|pourrais)|on (peut|pourrait))|(peut|pourrait) on|on (peut|pourrait)|"
    "(est il |c est |serait il |ce serait |)possible (de|d)|y a t il moyen (de|d)|laissez moi|laisse moi|"
    "nous (voulons|voudrions|souhaitons)"
)
FR_TALK: Final = (
    "(parler|discuter|echanger|dialoguer|communiquer|chatter|m entretenir)( directement)? (a|avec)|parler|"
    "(contacter|joindre|avoir|voir)|entrer en (contact|relation) avec|m adresser a|"
    "etre (mis|mise) en (relation|contact) avec|etre (transfere|transferee|redirige|redirigee) (a|vers)|"
    "etre (rappele|rappelee|aide|aidee|contacte|contactee) par"
)
FR_HAND: Final = (
    "((pouvez vous|pourriez vous|peux tu|pourrais tu|merci de|veuillez) )?"
    "(passez moi|passe moi|me passer|donnez moi|me donner|trouvez moi|appelez moi|appelle moi|"
    "(mettez|mets) moi en (relation|contact) avec|me mettre en (relation|contact) avec|"
    "(transferez|transfere|connectez|connecte|redirigez|redirige) moi (a|avec|vers)|"
    "me (transferer|connecter|rediriger) (a|avec|vers))"
)
FR_HAVE: Final = (
    "je (veux|voudrais|souhaite|demande|prefere|cherche)|j (aimerais|ai besoin|ai besoin de|ai besoin d|exige)|"
    "il me faut|il me faudrait|je peux avoir|puis je avoir"
)
FR_HOW: Final = (
    "comment (faire pour |)?|comment (je |on )(peux|peut|fais pour|fait pour)?|comment (puis je|peut on|pourrais je)|"
    "comment est ce que je (peux|fais pour)"
)
FR_THERE: Final = "il y a|y a t il|est ce qu il y a|y a"

ES_PERSON: Final = (
    "(un |una |otra |otro |algun |alguna |)"
    "(humano|humana|persona|agente|asesor|asesora|operador|operadora|representante|empleado|empleada|"
    "tecnico|responsable|gestor|gestora|companero)"
    "( real| humano| humana| fisica| de verdad| de carne y hueso)?"
    "( del equipo| de soporte| de su equipo| de vuestro equipo)?|"
    "un ser humano|(alguien)( real| humano| de verdad| del equipo| de su equipo| de soporte| mas)?|"
    "(personas|gente) (reales|real|de verdad)"
)
ES_TEAM: Final = "(el equipo|su equipo|el soporte|soporte|atencion al cliente|el servicio de atencion al cliente)"
ES_WISH: Final = (
    "(yo )?(quiero|quisiera|querria|necesito|deseo|prefiero|preferiria|debo|solo quiero)|me gustaria|"
    "(yo )?(puedo|podria)|"
    "(es|seria) posible|se (puede|podria)|hay (forma|manera) de|dejame|dejeme|queremos|necesitamos|podemos|podriamos"
)
ES_TALK: Final = (
    "(hablar|chatear|conversar|comunicarme|comunicar|contactar|tratar)( directamente)? (con|a)|"
    "contactar|(ponerme|entrar|estar) en contacto con|ser atendid[oa] por|que me atienda|que me llame|hablar"
)
ES_HAND: Final = (
    "((puede|puedes|podria|podrias) )?(pas[ae]me|pong[ae]me|ponme|conect[ae]me|comuni(que|ca)me|transfi[e]r[ae]me|deme|"
    "dame|pasarme|ponerme|conectarme|comunicarme|transferirme|derivarme|deriveme)"
    "( en contacto)?( con| a)?"
)
ES_HAVE: Final = "(quiero|quisiera|querria|necesito|prefiero|exijo|busco)( a)?"
ES_HOW: Final = "como (puedo|podria|hago para|se puede|)"
ES_SPEAK: Final = "(hablo|contacto|chateo|me comunico|me pongo en contacto) con"
ES_THERE: Final = "hay"

ALONE: Final = (
    "(a |an |)(real |live |)(human|human being|agent|person|operator|representative|support agent|human agent)|"
    "(real|live) person|(un |une |)(vrai |vraie |)(humain|etre humain|conseiller|conseillere|agent humain|operateur)|"
    "une vraie personne|quelqu un|un agent|agent|(un |una |)(humano|persona real|asesor|operador|agente|agente humano)|"
    "una persona|someone|speak to (a )?human|talk to (a )?human"
)
"""Whole messages that ask for a person without a verb."""
