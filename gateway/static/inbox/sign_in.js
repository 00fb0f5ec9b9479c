// @ts-check
/** `<passeur-sign-in>`: login and password. */

import { fill, h } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { asProblem, explain } from "../talk/explain.js";
import { words } from "../words/index.js";

export class SignIn extends PasseurElement {
  /** @type {import("./staff_session.js").StaffSession | null} */
  session = null;

  build() {
    this.title = "";
    this.heading = h("h2");
    this.how = h("p");
    this.login = h("input", {
      id: "login",
      name: "login",
      autocomplete: "username",
      required: true,
      autocapitalize: "none",
      spellcheck: "false",
    });
    this.password = h("input", {
      id: "password",
      name: "password",
      type: "password",
      autocomplete: "current-password",
      required: true,
    });
    this.labels = [h("label", { for: "login" }), h("label", { for: "password" })];
    this.trouble = h("p", { class: "alarm", role: "alert" });
    this.button = h("button", { type: "submit", class: "button primary" });
    const form = h("form", { class: "sign-in", submit: (/** @type {Event} */ event) => this.#submit(event) });
    form.append(
      this.heading,
      this.how,
      this.labels[0],
      this.login,
      this.labels[1],
      this.password,
      this.trouble,
      this.button,
    );
    this.append(form);
  }

  reword() {
    const t = words.t.inbox;
    if (!this.heading || !this.how || !this.labels || !this.button) return;
    this.heading.textContent = t.signIn;
    this.how.textContent = t.signInHow;
    this.labels[0].textContent = t.login;
    this.labels[1].textContent = t.password;
    this.button.textContent = t.signIn;
  }

  connected() {
    this.login?.focus();
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const { session, login, password, trouble, button } = this;
    if (!session || !login || !password || !trouble || !button) return;
    button.disabled = true;
    fill(trouble);
    try {
      await session.open(login.value.trim(), password.value);
      this.say("passeur-signed-in");
    } catch (cause) {
      const problem = asProblem(cause);
      trouble.textContent = problem && problem.status !== 401 ? explain(problem) : words.t.inbox.refused;
      password.select();
    } finally {
      button.disabled = false;
    }
  }
}

customElements.define("passeur-sign-in", SignIn);
