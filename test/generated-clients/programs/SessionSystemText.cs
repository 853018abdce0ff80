using System.Text.Json;
using System.Text.Json.Serialization;

namespace Bellhop
{
    public partial class BellhopClient
    {
        static partial void UpdateJsonSerializerSettings(JsonSerializerOptions settings) =>
            settings.DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull;
    }
}

/// NSwag's client with System.Text.Json, which writes null for every unset property unless it is configured.
public static class Session
{
    public static string Text(object value) => JsonSerializer.Serialize(value);
}
