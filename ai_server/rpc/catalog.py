"""CatalogService: which models and providers there are. Tools come with a later release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ai_server.clients import Scope
from ai_server.providers.registry import ENTRIES
from ai_server.rpc.caller import client_for
from ai_server.rpc.offer import Offer
from shared.errors import NotFound, NotImplementedHere
from shared.pb.passeur.v1 import catalog_pb2, catalog_pb2_grpc, common_pb2

if TYPE_CHECKING:
    from ai_server.providers.catalog import ModelRow
    from ai_server.services import Services

TOOLS: Final = "tools (MCP servers)"
BILLING: Final = {"metered": catalog_pb2.BILLING_METERED, "free": catalog_pb2.BILLING_FREE}


class CatalogServicer(catalog_pb2_grpc.CatalogServiceServicer):
    """Reads the catalogue and the settings; changes nothing."""

    def __init__(self, services: Services) -> None:
        """Take the doors."""
        self._services = services

    async def ListModels(self, request: Any, context: Any) -> catalog_pb2.ListModelsResponse:
        """List the catalogue's rows."""
        return catalog_pb2.ListModelsResponse(models=map(_model, self._services.providers.catalogue.rows))

    async def ListProviders(self, request: Any, context: Any) -> catalog_pb2.ListProvidersResponse:
        """List every provider that could be configured, and how those that are stand."""
        bundles = self._services.providers.bundles()
        configured = {provider for (provider, _), _ in bundles}
        resting = self._services.resting()
        providers = []
        for name in ENTRIES:
            rows = [each for each in self._services.providers.catalogue.rows if each.provider == name]
            reason = resting.get(name, "") if name in configured else "not configured"
            state = common_pb2.READINESS_STATE_READY
            if name not in configured:
                state = common_pb2.READINESS_STATE_UNSPECIFIED
            elif name in resting:
                state = common_pb2.READINESS_STATE_DEGRADED
            providers.append(
                catalog_pb2.Provider(
                    provider=name,
                    configured=name in configured,
                    state=state,
                    reason=reason,
                    capabilities=sorted({each for row in rows for each in row.capabilities}),
                )
            )
        return catalog_pb2.ListProvidersResponse(providers=providers)

    async def GetDefaults(self, request: Any, context: Any) -> catalog_pb2.GetDefaultsResponse:
        """Tell what a project answers with when a request leaves it open."""
        client_for(request.project_id)
        project = self._services.projects.get(request.project_id)
        if project is None:
            raise NotFound("There is no such project.")
        assistant = project.assistants[project.default_assistant]
        return catalog_pb2.GetDefaultsResponse(
            assistant=project.default_assistant,
            assistants=list(project.assistants),
            languages=project.languages,
            provider=assistant.chain[0].provider,
            model=assistant.chain[0].model,
            embedding_provider=project.embedding.provider,
            embedding_model=project.embedding.model,
            max_output_token_count=assistant.max_output_tokens,
        )

    async def ListTools(self, request: Any, context: Any) -> catalog_pb2.ListToolsResponse:
        """Not yet."""
        raise NotImplementedHere(TOOLS)

    async def RefreshTools(self, request: Any, context: Any) -> catalog_pb2.RefreshToolsResponse:
        """Not yet."""
        raise NotImplementedHere(TOOLS)

    async def GetToolServerStatus(self, request: Any, context: Any) -> catalog_pb2.GetToolServerStatusResponse:
        """Not yet."""
        raise NotImplementedHere(TOOLS)


def _model(row: ModelRow) -> catalog_pb2.Model:
    return catalog_pb2.Model(
        model_id=row.id,
        provider=row.provider,
        endpoint=row.endpoint,
        window_token_count=row.window,
        max_billable_output_token_count=row.max_billable_output,
        cap_bounds_reasoning=row.cap_bounds_reasoning,
        capabilities=sorted(row.capabilities),
        billing=BILLING[row.billing],
        price_nanousd_per_million=row.prices,
        price_version=row.price_version,
        checked_date=row.checked.isoformat(),
        source=row.source,
    )


OFFER: Final = Offer(
    descriptor=catalog_pb2.DESCRIPTOR.services_by_name["CatalogService"],
    servicer=CatalogServicer,
    add=catalog_pb2_grpc.add_CatalogServiceServicer_to_server,
    scope=Scope.ANSWER,
    exceptions={"RefreshTools": Scope.ADMIN},
)
