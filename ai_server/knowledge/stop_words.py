"""Function words of the languages that Passeur speaks: they say nothing of what a question is about."""

from __future__ import annotations

from typing import Final

_FRENCH: Final = """
a ai aie ait alors apres as au aucun aucune aura aurait aussi autre autres aux avaient avait avant avec avez avoir
avons bien c ca car ce ceci cela celle celles celui ces cet cette ceux chaque chez ci combien comme comment d dans de
depuis des doit doivent donc dont du elle elles en encore entre es est et etaient etait etes etre eu eux faire
fait fais faites faut font hors ici il ils j je jusque l la laquelle le lequel les lesquelles lesquels leur leurs lors
lorsque lui m ma mais me meme memes mes mien mienne moi moins mon n ne ni non nos notre nous on ont ou par parce pas
pendant peu peut peuvent peux plus plusieurs pour pourquoi pourrait puis puisque qu quand que quel quelle quelles
quels qui quoi s sa sans se selon sera serait ses si sien sienne soi soit sommes son sont sous suis sur t ta tandis te
tel telle telles tels tes toi ton tous tout toute toutes tres tu un une va vais vers veut veux voici voila vos votre
vous vu y
"""

_ENGLISH: Final = """
a about above after again against all also am among an and any are aren as at be because been before being below
between both but by can cannot could couldn d did didn do does doesn doing don done down during each either else ever
every few for from further get gets got had hadn has hasn have haven having he her here hers herself him himself his
how however i if in into is isn it its itself just ll m many may me might more most much must my myself neither no nor
not now of off on once one only or other ought our ours ourselves out over own per please quite rather re s same shall
she should shouldn since so some such t than that the their theirs them themselves then there these they this those
though through thus to too under until up upon us ve very was wasn we were weren what whatever when where whether which
while who whoever whom whose why will with within without won would wouldn yes yet you your yours yourself
"""

_SPANISH: Final = """
a al algo alguna algunas alguno algunos ambos ante antes aquel aquella aquellas aquellos aqui asi aun aunque bajo bien
cada como con contra cual cuales cuando cuanta cuantas cuanto cuantos cuya cuyo de debe deben del desde donde dos
durante e el ella ellas ello ellos en entonces entre era eran eres es esa esas ese eso esos esta estaba estado estan
estar estas este esto estos estoy fue fueron ha haber habia hace hacer hacia han hasta hay he hemos incluso la las le
les lo los mas me mi mia mientras mio mis misma mismo mucho muy nada ni no nos nosotros nuestra nuestro o os otra otras
otro otros para pero poco por porque pues que quien quienes se sea sean segun ser si sido sin sino sobre sois somos son
soy su sus suya suyo tal tambien tampoco tan tanto te tener ti tiene tienen toda todas todavia todo todos tras tu tus
un una unas uno unos usted ustedes va vamos ya yo
"""

STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    "fr": frozenset(_FRENCH.split()),
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
}
"""Folded words by ISO 639-1 code; a language that is not here has none."""
