import org.openapitools.client.ApiClient;

/** The library okhttp-gson. */
final class Session {
    static ApiClient at(String baseUrl) {
        return new ApiClient().setBasePath(baseUrl);
    }

    static void authorize(ApiClient client, String token) {
        client.setAccessToken(token);
    }
}
