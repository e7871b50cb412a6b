/* commands.c: the table of commands. */
#include "cli/commands.h"

const struct cli_command CLI_COMMANDS[] = {
    {"init", cmd_init, "write an example workflow to begin with"},
    {"nodes", cmd_nodes, "the node types there are: configuration, outputs, an example"},
    {"serve", cmd_serve, "run the host (--help lists the settings, --print-config shows them)"},
    {"seed", cmd_seed, "load a folder of workflow definitions, or --conformance for the fixtures"},
    {"keys", cmd_keys, "create, rotate, list and revoke API keys"},
    {"secrets", cmd_secrets, "store, list and delete credentials that runs use by name"},
    {"agents", cmd_agents, "put, list, show, check and delete agents of the workspace"},
    {"memory", cmd_memory, "list, show and delete what agents remember"},
    {"sessions", cmd_sessions, "list, show, export, import and check sessions of led agents"},
    {"seal", cmd_seal, "rotate and list the keys of sensitive values"},
    {"tokens", cmd_tokens, "rotate, list and revoke the signing secrets of interrupt tokens"},
    {"workflow", cmd_workflow, "check, put, list, get and delete workflow definitions"},
    {"workspec", cmd_workspec, "validate WorkSpec documents, plan them, convert old ones"},
    {"workrail", cmd_workrail, "check, compile and hash workflows that agents are led through"},
    {"runs", cmd_runs, "start, list, show, cancel, pause, resume and fork runs"},
    {"interrupts", cmd_interrupts, "list what waits for an answer, show and resolve it"},
    {"tasks", cmd_tasks, "what waits for workers, and who has it"},
    {"webhooks", cmd_webhooks, "register webhooks, see how deliveries go, and repeat them"},
    {"packs", cmd_packs, "make, sign, publish and install packs of node types and agents"},
    {"mcp", cmd_mcp, "serve MCP on standard input and output, for agents and desktop clients"},
    {"tail", cmd_tail, "follow a run in the terminal (--json for pipes)"},
    {"bundle", cmd_bundle, "all there is to know of a run, in one document without secrets"},
    {"audit", cmd_audit, "print the audit log"},
    {"verify", cmd_verify, "check a database and say what was found"},
    {"health", cmd_health, "ask a running host whether it is ready"},
    {"completion", cmd_completion, "completion of these commands in bash, zsh and fish"},
    {"version", cmd_version, "print the version"},
};
const size_t CLI_COMMANDS_NR = sizeof CLI_COMMANDS / sizeof *CLI_COMMANDS;
