import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.openapitools.client.ApiClient;

/** The library restclient: Spring's RestClient with Jackson, which writes null for every unset field unless it is configured. */
final class Session {
    static ApiClient at(String baseUrl) {
        ObjectMapper mapper =
                ApiClient.createDefaultMapper(null).setSerializationInclusion(JsonInclude.Include.NON_NULL);
        return new ApiClient(mapper, ApiClient.createDefaultDateFormat()).setBasePath(baseUrl);
    }

    static void authorize(ApiClient client, String token) {
        client.setAccessToken(token);
    }
}
