// A bot in plain Java: `java Bot.java SERVER KEY [GAMES]`. It needs Java 11 or later, and no package.
//
// It goes to the nearest mine that it does not own, and drinks beer when its life is low. Change `choose`.
// It plays game after game, for a whole league, until Ctrl-C ends it. With GAMES, it plays only so many games.

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Bot {
    static final String[] MOVES = {"North", "South", "East", "West"};
    static final int[][] STEPS = {{-1, 0}, {1, 0}, {0, 1}, {0, -1}};
    /** Below this life, the bot goes to a tavern. */
    static final int THIRSTY = 50;

    static final HttpClient CLIENT = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    /** The parts of the server's answer that this bot uses. Here x is the row and y the column. */
    static class State {
        final String text, tiles, playUrl, viewUrl;
        final int size, turn, id, life, gold, x, y;
        final boolean finished;

        State(String text) {
            this.text = text;
            tiles = find("\"tiles\":\\s*\"([^\"]*)\"", 0);
            playUrl = find("\"playUrl\":\\s*\"([^\"]*)\"", 0);
            viewUrl = find("\"viewUrl\":\\s*\"([^\"]*)\"", 0);
            size = Integer.parseInt(find("\"size\":\\s*(\\d+)", 0));
            turn = Integer.parseInt(find("\"turn\":\\s*(\\d+)", 0));
            finished = find("\"finished\":\\s*(\\w+)", 0).equals("true");
            int hero = text.indexOf("\"hero\":");
            id = Integer.parseInt(find("\"id\":\\s*(\\d+)", hero));
            life = Integer.parseInt(find("\"life\":\\s*(\\d+)", hero));
            gold = Integer.parseInt(find("\"gold\":\\s*(\\d+)", hero));
            x = Integer.parseInt(find("\"x\":\\s*(\\d+)", hero));
            y = Integer.parseInt(find("\"y\":\\s*(\\d+)", hero));
        }

        /** Return the group of the first match of a pattern at or after a place in the text. */
        String find(String pattern, int from) {
            Matcher found = Pattern.compile(pattern).matcher(text);
            if (!found.find(from)) throw new IllegalStateException("the answer of the server has no " + pattern);
            return found.group(1);
        }
    }

    /** Return our move: Stay, North, South, East or West. */
    static String choose(State state) {
        if (state.life < THIRSTY && state.gold >= 2) return firstStep(state, tile -> tile.equals("[]"));
        return firstStep(state, tile -> tile.charAt(0) == '$' && tile.charAt(1) != '0' + state.id);
    }

    /** Return the first move of a shortest way to a tile that is a goal, or Stay if there is no way. */
    static String firstStep(State state, Predicate<String> isGoal) {
        ArrayDeque<int[]> waiting = new ArrayDeque<>();
        Set<Integer> seen = new HashSet<>();
        waiting.add(new int[] {state.x, state.y, -1});
        seen.add(state.x * state.size + state.y);
        while (!waiting.isEmpty()) {
            int[] here = waiting.remove();
            for (int move = 0; move < MOVES.length; move++) {
                int row = here[0] + STEPS[move][0], column = here[1] + STEPS[move][1];
                int place = row * state.size + column;
                if (Math.min(row, column) < 0 || Math.max(row, column) >= state.size || !seen.add(place)) continue;
                String tile = state.tiles.substring(2 * place, 2 * place + 2);
                int first = here[2] < 0 ? move : here[2];
                if (isGoal.test(tile)) return MOVES[first];
                if (tile.equals("  ")) waiting.add(new int[] {row, column, first});
            }
        }
        return "Stay";
    }

    /** The server refuses a request. The message is its answer. */
    static class Refused extends Exception {
        Refused(String answer) { super(answer); }
    }

    /** Send a form, and return the answer. If the server cannot be reached or is busy, say so, and try again for some seconds. */
    static State post(String url, String form, int seconds) throws InterruptedException, Refused {
        long start = System.nanoTime() / 1_000_000_000, printed = start - 30;
        while (true) {
            String problem;
            try {
                HttpRequest request = HttpRequest.newBuilder(URI.create(url))
                    .header("Content-Type", "application/x-www-form-urlencoded")
                    .POST(HttpRequest.BodyPublishers.ofString(form)).build();
                HttpResponse<String> answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() == 200) return new State(answer.body());
                problem = answer.body().isEmpty() ? "status " + answer.statusCode() : answer.body();
                if (answer.statusCode() != 429 && answer.statusCode() < 500) throw new Refused(problem);
            } catch (IOException | IllegalArgumentException | IllegalStateException error) {
                problem = error.getMessage() == null ? error.toString() : error.getMessage();
            }
            long now = System.nanoTime() / 1_000_000_000;
            if (now - start > seconds) throw new Refused("no answer: " + problem);
            if (now - printed >= 30) {
                System.out.println(url.split("/api/")[0] + " does not answer: " + problem + ". Trying again.");
                printed = now;
            }
            Thread.sleep(500);
        }
    }

    static void fail(String message) {
        System.err.println(message);
        System.exit(1);
    }

    /** Play one game. If the server ends the game for us, for example because it has started anew, return as well. */
    static void play(String server, String key) throws InterruptedException {
        State state = null;
        try {
            state = post(server + "/api/arena", "key=" + URLEncoder.encode(key, StandardCharsets.UTF_8), Integer.MAX_VALUE);
        } catch (Refused problem) {
            String answer = problem.getMessage();
            fail("the server says: " + answer + (answer.contains("Key not found") ? ": check your slip" : ""));
        }
        System.out.println("the game: " + state.viewUrl);
        try {
            while (!state.finished) state = post(state.playUrl, "dir=" + choose(state) + "&turn=" + state.turn, 20);
        } catch (Refused problem) {
            System.out.println("this game is over for us: " + problem.getMessage());
        }
    }

    /** Play on a server, whose address may lack `http://`. */
    public static void main(String[] words) throws InterruptedException {
        if (words.length < 2) fail("usage: java Bot.java SERVER KEY [GAMES]");
        String server = words[0].contains("://") ? words[0] : "http://" + words[0];
        System.out.println("asking " + server + " for a game");
        for (int game = words.length > 2 ? Integer.parseInt(words[2]) : Integer.MAX_VALUE; game > 0; game--) {
            play(server.replaceAll("/$", ""), words[1]);
        }
    }
}
