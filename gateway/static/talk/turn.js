// @ts-check
/** Sending a question and reading the answer from the same response. */

import { newKey } from "../wire/api.js";
import { Problem } from "../wire/problem.js";
import { EventParser, readEvents } from "../wire/sse.js";
import { asProblem } from "./explain.js";

/** @typedef {import("./model.js").Conversation} Conversation */
/** @typedef {import("./model.js").Message} Message */

/**
 * Send a message of ours and follow its turn. Never throws: what goes wrong is told in the conversation.
 *
 * The idempotency key stays with the message while its fate is unknown, so that trying again cannot ask twice.
 *
 * @param {import("../wire/api.js").Api} api
 * @param {Conversation} conversation
 * @param {Message} message
 * @param {() => void} onAccepted the server has it
 * @returns {Promise<"whole" | "cut" | "refused">} `cut`: the turn goes on, the visitor's stream has the rest
 */
export async function ask(api, conversation, message, onAccepted) {
  conversation.setRunning({ step: "saving", own: true, stopping: false });
  let accepted = false;
  let whole = false;
  /** @param {import("../wire/sse.js").ServerEvent} event */
  const take = (event) => {
    const data = JSON.parse(event.data);
    if (data.conversation_id && data.conversation_id !== conversation.id) return;
    if (event.type === "turn.step" && data.step === "done") whole = true;
    conversation.apply(event.type, data, true);
  };
  try {
    await exist(api, conversation, `${message.key}-c`);
    const path = `conversations/${encodeURIComponent(conversation.id)}/messages`;
    const body = { text: message.text, attachment_ids: message.attachments.map((file) => file.id) };
    const response = await api.send(path, { body, key: message.key, accept: "text/event-stream", endless: true });
    accepted = true;
    onAccepted();
    if (!response.body) throw new Problem("network");
    await readEvents(response.body, new EventParser(take), () => whole);
  } catch (cause) {
    if (!accepted) return refuse(conversation, message, cause);
  }
  settle(conversation, message);
  if (!whole) conversation.setRunning({ own: false });
  return whole ? "whole" : "cut";
}

/**
 * The server may have had the message all along (sent before a reload, its fate unknown): then ours was its shadow.
 *
 * @param {Conversation} conversation
 * @param {Message} message
 */
function settle(conversation, message) {
  const isShadow =
    message.id.startsWith("own-") &&
    conversation.messages.some((other) => other !== message && other.role === "user" && other.text === message.text);
  if (isShadow) conversation.remove(message);
  else if (message.state === "sending") conversation.setState(message, "whole");
}

/**
 * The server's conversation is made when there is something to say.
 *
 * @param {import("../wire/api.js").Api} api
 * @param {Conversation} conversation
 * @param {string} key makes trying again harmless
 */
export async function exist(api, conversation, key) {
  if (conversation.id) return;
  const made = await api.json("conversations", { method: "POST", body: {}, key });
  conversation.id = made.id;
  conversation.dispatchEvent(new Event("made"));
}

/** @param {Conversation} conversation @param {Message} message @param {unknown} cause @returns {"refused"} */
function refuse(conversation, message, cause) {
  const problem = asProblem(cause) ?? new Problem("internal");
  if (problem.slug === "turn-running") conversation.setRunning({ turnId: problem.turnId, step: "waiting", own: false });
  else conversation.setRunning(null);
  if (!problem.unknownOutcome) message.key = newKey(); // surely not taken: next time is another attempt
  conversation.setState(message, "unsent", problem);
  return "refused";
}
