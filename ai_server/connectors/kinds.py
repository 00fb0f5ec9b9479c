"""What the known services hold and how people point at it, in three languages."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ai_server.connectors.contract import Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping


def _hints(*groups: tuple[str, Mapping[str, str]]) -> Mapping[str, Mapping[str, str]]:
    """Map each folded word of a group to the group's narrowing parameters."""
    return MappingProxyType({word: dict(narrow) for words, narrow in groups for word in words.split()})


def _holds(fr: str, en: str, es: str) -> Mapping[str, str]:
    return MappingProxyType({"fr": fr, "en": en, "es": es})


JELLYFIN: Final = (
    Endpoint(
        "items",
        _holds("films, séries, musique", "films, series, music", "películas, series, música"),
        _hints(
            ("film films movie movies pelicula peliculas cinema", {"types": "Movie"}),
            ("serie series show shows episode episodes episodio episodios saison", {"types": "Series,Episode"}),
            ("album albums musique music musica", {"types": "Audio,MusicAlbum"}),
            ("chanson chansons song songs cancion canciones", {"types": "Audio,MusicAlbum"}),
            ("artiste artist artista groupe band", {"types": "MusicArtist"}),
            ("acteur regarder voir watch ver ecouter listen escuchar media video videos", {}),
        ),
        (
            "cherche le film batman", "je veux regarder une série", "trouve la musique de daft punk",
            "est-ce qu'on a le film alien",
            "find the movie batman", "do we have any songs by queen", "watch a series", "busca la película alien",
            "quiero ver una serie", "pon música de rosalía",
        ),
    ),
)  # fmt: skip

NEXTCLOUD: Final = (
    Endpoint(
        "files",
        _holds("fichiers, documents", "files, documents", "archivos, documentos"),
        _hints(
            ("fichier fichiers file files archivo archivos dossier dossiers folder folders carpeta carpetas", {}),
            ("pdf tableur spreadsheet presentation diaporama slides docx xlsx odt photo photos scan", {}),
            ("contrat contract contrato facture invoice factura rapport report informe devis", {}),
        ),
        (
            "trouve le fichier budget 2026", "où est le dossier des contrats", "cherche le pdf de la facture",
            "find the file named minutes", "search the shared folder for the report", "open my spreadsheet",
            "busca el archivo del contrato", "encuentra la carpeta de facturas",
        ),
        frozenset(
            {"contrat", "contract", "contrato", "facture", "invoice", "factura"}
            | {"rapport", "report", "informe", "devis"},
        ),
    ),
)  # fmt: skip

GITHUB: Final = (
    Endpoint(
        "repositories",
        _holds("dépôts", "repositories", "repositorios"),
        _hints(("repo repos repository repositories depot depots repositorio repositorios", {})),
        ("trouve le dépôt du site", "find the repository of the widget", "busca el repositorio de la web"),
    ),
    Endpoint(
        "issues",
        _holds("tickets", "issues", "incidencias"),
        _hints(("issue issues bug bugs pull request incidencia incidencias anomalie anomalies", {})),
        ("cherche les issues sur le login", "find bugs about login", "busca incidencias del login"),
    ),
    Endpoint(
        "code",
        _holds("code", "code", "código"),
        _hints(("code codigo fonction function funcion classe class commit", {})),
        (
            "où est la fonction parse dans le code",
            "search the code for parse_date",
            "busca en el código la función login",
        ),
    ),
)

KNOWN: Final[Mapping[str, tuple[Endpoint, ...]]] = MappingProxyType(
    {"jellyfin": JELLYFIN, "nextcloud": NEXTCLOUD, "github": GITHUB}
)
"""Endpoints of the types that bring their own; a declaration may replace their words."""
