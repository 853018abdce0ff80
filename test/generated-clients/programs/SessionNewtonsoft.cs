using Newtonsoft.Json;

/// NSwag's client with Newtonsoft.Json.
public static class Session
{
    public static string Text(object value) => JsonConvert.SerializeObject(value);
}
