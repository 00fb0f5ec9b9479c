// What a foreign page may try against a visitor who is signed in elsewhere in the same browser. Tells what it could read.
async ([base, ids, kind, dice, patienceMs]) => {
    const patience = (promise) => Promise.race([promise, new Promise((end) => setTimeout(() => end(""), patienceMs))]);
    const path = `${base}/v1/conversations/${ids.conversation}`;
    const body = JSON.stringify({ text: "transmets", public_key: "pk_demo", login: "ana", password: "x" });
    const targets = [`${path}/messages`, `${path}/escalate`, `${path}/read`, `${base}/v1/sessions`,
        `${base}/v1/staff/sessions`, `${base}/v1/events/ticket`, `${base}/v1/attachments?name=a.txt`];
    const reads = [path, `${path}/messages`, `${base}/v1/conversations`, `${base}/v1/events`, `${base}/v1/notifications`,
        `${base}/v1/tickets`, `${base}/openapi.json`, `${base}/readyz`];
    const pick = (list) => list[Math.floor(dice * list.length)];
    const text = async (response) => (response.type === "opaque" ? "" : await response.text());
    const quiet = (promise) => patience(promise.catch(() => ""));
    const element = (tag, traits) => new Promise((end) => {
        const made = Object.assign(document.createElement(tag), traits, { onload: () => end(""), onerror: () => end("") });
        document.body.append(made);
    });
    const kinds = {
        form: () => new Promise((end) => {
            const frame = Object.assign(document.createElement("iframe"), { name: `f${Math.random()}` });
            document.body.append(frame);
            const form = Object.assign(document.createElement("form"), {
                action: pick(targets), method: "POST", target: frame.name,
                enctype: dice < 0.5 ? "text/plain" : "application/x-www-form-urlencoded" });
            form.append(Object.assign(document.createElement("input"), { name: body.slice(0, -1) + ',"a":"', value: '"}' }));
            document.body.append(form);
            frame.onload = () => { try { end(frame.contentDocument?.body?.textContent ?? ""); } catch { end(""); } };
            form.submit();
        }),
        simple: async () => text(await fetch(pick(targets), { method: "POST", mode: "no-cors", credentials: "include",
            headers: { "content-type": "text/plain" }, body })),
        cors: async () => text(await fetch(pick(targets), { method: "POST", credentials: "include",
            headers: { "content-type": "application/json" }, body })),
        borrowed: async () => text(await fetch(pick(reads), { headers: { authorization: `Bearer ${ids.guess}` } })),
        read: async () => text(await fetch(pick(reads), { credentials: dice < 0.5 ? "include" : "omit" })),
        beacon: async () => { navigator.sendBeacon(pick(targets), new Blob([body], { type: "text/plain" })); return ""; },
        source: () => new Promise((end) => {
            const made = new EventSource(`${base}/v1/events${dice < 0.5 ? `?ticket=${ids.guess}` : ""}`, { withCredentials: true });
            made.onmessage = (event) => end(event.data);
            made.onopen = () => end("a stream opened");
            made.onerror = () => { made.close(); end(""); };
        }),
        image: () => element("img", { src: pick(reads) }),
        script: () => element("script", { src: pick(reads) }),
        style: () => element("link", { rel: "stylesheet", href: pick(reads) }),
        socket: () => new Promise((end) => {
            const made = new WebSocket(`${base.replace("http", "ws")}/v1/events`);
            made.onopen = () => end("a socket opened");
            made.onerror = () => end("");
        }),
        frame: async () => {
            const frame = Object.assign(document.createElement("iframe"), { src: `${base}${dice < 0.5 ? "/chat" : "/inbox"}` });
            document.body.append(frame);
            await patience(new Promise((end) => { frame.onload = end; }));
            for (const said of [{ passeur: "fresh" }, { type: "passeur-human" }, "open", { kind: "ask", text: "transmets" }])
                frame.contentWindow.postMessage(said, "*");
            try { return frame.contentDocument?.body?.textContent ?? ""; } catch { return ""; }
        },
        opened: async () => {
            const made = window.open(`${base}/chat`);
            await patience(new Promise(() => {}));
            made?.postMessage({ kind: "ask", text: "transmets" }, "*");
            let seen = "";
            try { seen = made?.document?.body?.textContent ?? ""; } catch { seen = ""; }
            made?.close();
            return seen;
        },
    };
    const found = await quiet(Promise.resolve().then(kinds[kind]));
    document.body.replaceChildren();
    return String(found);
}
