"""
What each question cost: tokens, dollars, models, and how full the conversation is.

    python examples/cost_report.py            asks Claude
    python examples/cost_report.py --offline  asks the built-in stand-in, which echoes
"""

import sys

import claude_sync
from claude_sync.testing import StandIn

cli = StandIn().command if "--offline" in sys.argv else None
QUESTIONS = ("What is 2+2?", "And times three?", "Write a haiku about it.")
ROW = "{:<24} {:>8} {:>8} {:>10} {:>10}"

# No question is sent once so much is spent; one that runs is not stopped for it.
with claude_sync.Client(cli=cli, budget_usd=1.0) as client:
    print(ROW.format("question", "read", "written", "USD", "so far"))
    for question in QUESTIONS:
        try:
            answer = client.ask(question, timeout=120)
        except claude_sync.BudgetExceeded as error:
            print(error)
            break
        usage = answer.usage
        read = usage.input_tokens + usage.cache_read_input_tokens
        read += usage.cache_creation_input_tokens
        costs = (f"{answer.cost_usd:.4f}", f"{answer.total_cost_usd:.4f}")
        print(ROW.format(question, read, usage.output_tokens, *costs))

    # By model, those that the CLI uses for its own purposes included.
    for model, used in client.model_usage.items():
        print(ROW.format(model[:24], "", used.output_tokens, f"{used.cost_usd:.4f}", ""))
    for agent in client.agent_usage:
        print(f"{agent.agent}: {agent.status}, {agent.tool_uses} tools, {agent.duration_ms} ms")
    total = client.usage
    print(f"all: {total.output_tokens} tokens written, {client.cost_usd:.4f} USD")
    print(f"the conversation has {client.context_tokens} tokens")
