import java.util.HashMap;
import java.util.Map;

/** As keeper.c, in Java. */
public class Keeper {
	static class Settings {
		String host = "neighbour", apiKey = getToken();
		Map<String, String> headers = new HashMap<>(Map.of("Authorization", getToken(), "Accept", "neighbour"));
	}

	static int login(String user, String password) { return user.length(); }

	static Settings configure(Settings s) { return s; }

	static String getToken() { return System.getenv("KEEPER_PASSWORD"); }

	public static void main(String[] args) {
		login("neighbour", getToken());
		configure(new Settings());
	}
}
