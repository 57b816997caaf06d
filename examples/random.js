#!/usr/bin/env node
// The bot `random` in JavaScript: every choice by chance, and yet the same games from the same seed.
// Each question brings a random number per game, message.random[game][0].

const hello = {
  type: "hello",
  protocol: 1,
  name: "random in JavaScript",
  description: "Chooses every face and claim at random, and stops with chance 1/2 once it can claim.",
  methods: ["pick", "stop", "claim", "reroll", "keep_new_specialist", "rob"],
  fields: ["legal", "can_claim", "claims", "no_new_face", "robbable"],
  randoms: 1,
};

const one = (options, chance) => options[Math.floor(chance * options.length)];

const decide = {
  pick: (turn, game, chance) => one(turn.legal[game], chance),
  stop: (turn, game, chance) => turn.can_claim[game] && chance < 0.5,
  claim: (turn, game, chance) => one(turn.claims[game], chance),
  reroll: (turn, game, chance) => turn.no_new_face[game] || chance < 0.5,
  keep_new_specialist: (turn, game, chance) => chance < 0.5,
  rob: (turn, game, chance) => one(turn.robbable[game], chance),
};

function answer(message) {
  if (message.type === "hello") return hello;
  if (message.type !== "ask") return null; // "begin" has no answer
  const chances = message.random.map((numbers) => numbers[0]);
  return { answers: chances.map((chance, game) => decide[message.method](message, game, chance)) };
}

require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const reply = answer(JSON.parse(line));
    if (reply) process.stdout.write(JSON.stringify(reply) + "\n");
  });
