import org.openapitools.client.ApiClient;

/** The library native: java.net.http with Jackson. */
final class Session {
    static ApiClient at(String baseUrl) {
        ApiClient client = new ApiClient();
        client.updateBaseUri(baseUrl);
        return client;
    }

    static void authorize(ApiClient client, String token) {
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    }
}
