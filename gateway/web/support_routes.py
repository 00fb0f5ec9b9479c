"""The paths of tickets and what goes with them; see `gateway.web.routes`."""

from __future__ import annotations

from typing import Final

from gateway.web import attachments, attention, notifications, presence, questions, records, schemas, staff, tickets
from gateway.web import support_schemas as shapes
from gateway.web.route import Route

IN_CONVERSATION: Final = "/v1/conversations/{conversation_id}"
TICKET: Final = "/v1/tickets/{ticket_id}"
PAGING: Final = {"limit": "1 to 100", "cursor": "`next_cursor` of the page before"}
BODY: Final = (400, 413, 415)

SUPPORT_ROUTES: Final = (
    Route("POST", f"{IN_CONVERSATION}/escalate", attention.escalate,
          {201: shapes.EitherTicket, 200: shapes.EitherTicket}, callers=("visitor", "staff"), takes_key=True,
          problems=(400, 404, 409)),
    Route("POST", f"{IN_CONVERSATION}/read", attention.mark_read, {204: None}, schemas.ReadUpTo,
          callers=("visitor", "staff"), problems=(*BODY, 404)),
    Route("POST", f"{IN_CONVERSATION}/typing", attention.typing, {204: None}, shapes.Typing,
          callers=("visitor", "staff"), problems=(*BODY, 404)),
    Route("POST", f"{IN_CONVERSATION}/open", attention.open_conversation, {204: None},
          callers=("visitor", "staff"), problems=(404,)),
    Route("POST", f"{IN_CONVERSATION}/close", attention.close_conversation, {204: None},
          callers=("visitor", "staff"), problems=(404,)),
    Route("GET", f"{IN_CONVERSATION}/export", records.export_conversation, {200: shapes.Export},
          callers=("visitor", "staff", "operator"), problems=(404,)),
    Route("POST", "/v1/attachments", attachments.create, {201: shapes.Attachment}, media=attachments.TAKEN, again=False,
          query={"name": "the file's name"}, takes_key=True, problems=(400, 409, 413, 415, 501, 504)),
    Route("GET", "/v1/attachments/{attachment_id}", attachments.show, {200: None},
          callers=("visitor", "staff"), sends=("image/jpeg", "image/png", "application/octet-stream"),
          problems=(404,)),
    Route("GET", "/v1/visitors/{visitor_id}/export", records.export_visitor, {200: shapes.Export},
          callers=("visitor", "staff", "operator"), problems=(404,)),
    Route("DELETE", "/v1/visitors/{visitor_id}", records.delete_visitor, {200: shapes.Deleted},
          callers=("visitor", "staff", "operator"), problems=(404,)),
    Route("PUT", "/v1/presence", presence.put, {200: shapes.Presence}, shapes.NewPresence,
          callers=("visitor", "staff"), problems=BODY),
    Route("GET", "/v1/presence", presence.index, {200: shapes.Presences}, callers=("visitor", "staff"),
          problems=(400,), query={
              "staff": "ids joined by commas; everyone whom the caller may see when both are absent",
              "visitor": "ids joined by commas, for staff",
          }),
    Route("GET", "/v1/notifications", notifications.index, {200: shapes.Notifications},
          callers=("visitor", "staff"), problems=(400,),
          query={"limit": "1 to 100", "unread": "`true`: only those not read"}),
    Route("POST", "/v1/notifications/{notification_id}/read", notifications.mark_read, {200: shapes.Notification},
          callers=("visitor", "staff"), problems=(404,)),
    Route("POST", "/v1/staff/sessions", staff.sign_in, {201: shapes.StaffSession}, shapes.SignIn, callers=(),
          problems=(*BODY, 403)),
    Route("DELETE", "/v1/staff/sessions", staff.sign_out, {204: None}, callers=("staff",)),
    Route("GET", "/v1/staff/me", staff.me, {200: shapes.StaffMe}, callers=("staff",)),
    Route("GET", "/v1/staff", staff.index, {200: shapes.StaffList}, callers=("staff", "operator"),
          query={"project_id": "for operators: whose staff; empty: everyone's"}),
    Route("POST", "/v1/staff", staff.create, {201: shapes.StaffAccount}, shapes.NewStaff,
          callers=("staff", "operator"), problems=(*BODY, 409)),
    Route("POST", "/v1/staff/{login}/password", staff.set_password, {200: shapes.StaffAccount}, shapes.NewPassword,
          callers=("staff", "operator"), problems=(*BODY, 404)),
    Route("POST", "/v1/staff/{login}/disable", staff.disable, {200: shapes.StaffAccount},
          callers=("staff", "operator"), problems=(404,)),
    Route("GET", "/v1/tickets", tickets.index, {200: shapes.StaffTickets}, callers=("staff",), problems=(400,),
          query={**PAGING, "state": "OPEN, IN_PROGRESS, RESOLVED, joined by commas; all when absent",
                 "assignee": "`me`, `none` or the id of one of the staff"}),
    Route("GET", TICKET, tickets.show, {200: shapes.TicketDetail}, callers=("staff",), problems=(404,)),
    Route("GET", f"{TICKET}/messages", tickets.messages, {200: schemas.Messages}, callers=("staff",), query=PAGING,
          problems=(400, 404)),
    Route("POST", f"{TICKET}/assign", tickets.assign, {200: shapes.StaffTicket}, shapes.Assignment,
          callers=("staff",), problems=(*BODY, 404, 409)),
    Route("POST", f"{TICKET}/reply", tickets.reply, {201: schemas.Message}, shapes.Reply, callers=("staff",),
          takes_key=True, problems=(*BODY, 404, 409)),
    Route("POST", f"{TICKET}/resolve", tickets.resolve, {200: shapes.StaffTicket}, callers=("staff",),
          problems=(404,)),
    Route("POST", f"{TICKET}/reopen", tickets.reopen, {200: shapes.StaffTicket}, callers=("staff",),
          problems=(404, 409)),
    Route("GET", "/v1/questions", questions.index, {200: shapes.QuestionGroups}, callers=("staff",),
          query={"days": "how far back, 1 to 365; 30 when absent"}, problems=(400,)),
    Route("GET", "/v1/questions/{turn_id}/passages", questions.passages, {200: shapes.NearPassages},
          callers=("staff",), problems=(404,)),
)  # fmt: skip
