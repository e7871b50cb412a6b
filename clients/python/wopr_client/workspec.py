"""WorkSpec documents: validated, planned, stored as definitions of runs."""
from __future__ import annotations

from typing import Any, Mapping, Optional, cast

from . import wire
from .transport import Transport
from .worker import given


class Workspec:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def validate(self, document: Mapping[str, Any], *, profile: Optional[str] = None) -> wire.WorkspecVerdict:
        """All that is wrong with a document; stores nothing.  ``profile``: host or reference."""
        return cast(wire.WorkspecVerdict, self._call("validateWorkspec", query=given(profile=profile), body=document,
                                                     repeatable=True))

    def plan(self, document: Mapping[str, Any]) -> wire.WorkspecPlan:
        """Who does what when; stores nothing."""
        return cast(wire.WorkspecPlan, self._call("planWorkspec", body=document, repeatable=True))

    def schema(self) -> wire.JsonSchema:
        """A JSON Schema of documents, for editors."""
        return cast(wire.JsonSchema, self._call("getWorkspecSchema"))

    def put(self, workflow_id: str, document: Mapping[str, Any], *, if_revision: Optional[int] = None) -> wire.WorkspecStored:
        """Runs are then started with its id."""
        return cast(wire.WorkspecStored, self._call("putWorkspecDocument", path={"workflowId": workflow_id},
                                                    query=given(ifRevision=if_revision), body=document))

    def get(self, workflow_id: str) -> wire.WorkspecDocument:
        return cast(wire.WorkspecDocument, self._call("getWorkspecDocument", path={"workflowId": workflow_id}))

    def plan_of(self, workflow_id: str) -> wire.WorkspecPlan:
        return cast(wire.WorkspecPlan, self._call("getWorkspecPlan", path={"workflowId": workflow_id}))

    def delete(self, workflow_id: str) -> wire.WorkflowDeleted:
        """No new runs of it; those that exist go on."""
        return cast(wire.WorkflowDeleted, self._call("deleteWorkspecDocument", path={"workflowId": workflow_id}))
