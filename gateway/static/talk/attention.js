// @ts-check
/** Telling the other side that one is writing, and how far one has read. Best effort: nobody waits for it. */

/** While someone goes on writing, it is said again at most this often. */
const AGAIN_MS = 3_000;
/** Whoever was writing and is not heard of again for so long has stopped. */
export const FADES_MS = 8_000;

export class Attention {
  #toldAt = 0;
  #told = "";
  #read = "";

  /** @param {import("../wire/api.js").Api} api */
  constructor(api) {
    this.api = api;
  }

  /** @param {string} conversation @param {boolean} typing */
  writes(conversation, typing) {
    const isOn = this.#told === conversation;
    if (typing ? isOn && Date.now() - this.#toldAt < AGAIN_MS : !isOn) return;
    this.#told = typing ? conversation : "";
    this.#toldAt = Date.now();
    this.#post(conversation, "typing", { typing });
  }

  /** @param {string} conversation @param {string} message the last one seen */
  hasRead(conversation, message) {
    if (message === this.#read) return;
    this.#read = message;
    this.#post(conversation, "read", { message_id: message });
  }

  /** @param {string} conversation @param {string} what @param {unknown} body */
  #post(conversation, what, body) {
    this.api.send(`conversations/${encodeURIComponent(conversation)}/${what}`, { body }).catch(() => {
      // a courtesy that failed changes nothing for the writer
    });
  }
}
