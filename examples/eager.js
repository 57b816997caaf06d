#!/usr/bin/env node
// The bot `eager` in JavaScript: takes the most points each roll and stops on the first tile it can claim.
// Play it with `pickosim tournament cmd:examples/eager.js random`. docs/protocol.md describes the messages.

const hello = {
  type: "hello",
  protocol: 1,
  name: "eager in JavaScript",
  description: "Takes the most points each roll and stops on the first tile it can claim.",
  methods: ["pick", "stop"],
  reads: ["counts", "legal", "can_claim"],
};

const WORM = 6;
const points = (face) => (face === WORM ? 5 : face);

// The legal face with the most points; of equal ones, the higher face.
function pick(counts, legal) {
  const score = (face) => counts[face] * points(face);
  return legal.reduce((best, face) => (score(face) >= score(best) ? face : best));
}

function answer(message) {
  if (message.type === "hello") return hello;
  if (message.type !== "ask") return null; // "begin" has no answer
  if (message.method === "stop") return { answers: message.can_claim };
  return { answers: message.counts.map((counts, game) => pick(counts, message.legal[game])) };
}

require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const reply = answer(JSON.parse(line));
    if (reply) process.stdout.write(JSON.stringify(reply) + "\n");
  });
