/* The bot `eager` in C: takes the most points each roll and stops on the first tile it can claim.
 *
 *     gcc -O2 -o eager examples/eager.c
 *     pickosim tournament cmd:./eager random
 *
 * docs/protocol.md describes the messages. There is no JSON library here: messages come in one form, without blanks,
 * and this bot reads three fields only, so that it can look for their names. Per game, `counts` has 7 numbers, by
 * face; `legal` has the faces that can be set aside; `can_claim` is true or false. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HELLO[] =
    "{\"type\":\"hello\",\"protocol\":1,\"name\":\"eager in C\","
    "\"description\":\"Takes the most points each roll and stops on the first tile it can claim.\","
    "\"reads\":[\"counts\",\"legal\",\"can_claim\"]}";

/* What follows a field's name in a message. */
static char *field(char *message, const char *name) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\"%s\":", name);
    char *found = strstr(message, wanted);
    if (!found) {
        fprintf(stderr, "no field %s\n", name);
        exit(1);
    }
    return found + strlen(wanted);
}

/* For each game the legal face with the most points; of equal ones, the higher face. */
static void pick(char *message, int games) {
    char *counts = field(message, "counts") + 1, *legal = field(message, "legal") + 1;
    for (int game = 0; game < games; game++) {
        int of_face[7], best = 0, most = -1;
        for (int face = 0; face < 7; face++)
            of_face[face] = strtol(counts + 1, &counts, 10); /* behind [ or , */
        counts += 2;                                          /* ], */
        while (*legal != ']') {
            int face = strtol(legal + 1, &legal, 10);
            int points = of_face[face] * (face == 6 ? 5 : face);
            if (points >= most) {
                most = points;
                best = face;
            }
        }
        legal += 2;
        printf("%s%d", game ? "," : "", best);
    }
}

/* For each game whether a tile can be claimed: the list as it came. */
static void stop(char *message) {
    char *list = field(message, "can_claim") + 1;
    printf("%.*s", (int)strcspn(list, "]"), list);
}

int main(void) {
    char *message = NULL;
    size_t size = 0;
    while (getline(&message, &size, stdin) > 0) {
        if (strstr(message, "\"type\":\"hello\"")) {
            puts(HELLO);
        } else if (strstr(message, "\"type\":\"ask\"")) {
            fputs("{\"answers\":[", stdout);
            if (strstr(message, "\"method\":\"pick\""))
                pick(message, atoi(field(message, "games")));
            else
                stop(message);
            puts("]}");
        } /* "begin" has no answer */
        fflush(stdout);
    }
    free(message);
    return 0;
}
