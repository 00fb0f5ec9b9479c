"""A server that speaks the providers' wire formats, does what a script says, and keeps its own invoice.

`python -m tests.simulator --port 8300` starts it. Each family has its own address below it:

    /openai/v1 /groq/v1 /deepseek/v1 /xai/v1 /openrouter/v1 /ollama/v1 /compatible/v1   OpenAI's chat format
    /perplexity/v1  the Responses format, refusing what the Agent API refuses
    /mistral        (the SDK adds /v1)         /anthropic      (the SDK adds /v1)
    /gemini         (the SDK adds /v1beta for the Developer API, /v1beta1/projects/… for Vertex AI)

    POST /_sim/scripts   a script, or a list, for the next calls (fields: `tests/simulator/script.py`)
    POST /_sim/default   the script of every call that has none of its own
    GET  /_sim/invoice   the lines that the provider would bill, in nanodollars, with their total
    POST /_sim/reset     forget scripts, calls, invoice and prefix cache
    POST /_sim/down      {"family": "mistral", "down": true}: 503 for all its calls until it is up again

The invoice is computed with the prices of `genai-prices`, not with our catalogue, so that the two can disagree.
"""
