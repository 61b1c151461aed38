import LarderCore

/// The path of a request of the HTTP API: a resource, and a custom method for some.
///
/// ```
/// /v1/projects/P/databases/D/documents/c/d:runQuery
///     └──────── database ──┘           └┬┘ └ method
///     └──────── resource ───────────────┘
/// ```
///
/// Segments are percent-encoded; `%2F` stays encoded, since a name would have another structure.
struct JSONPath: Equatable {
    static let prefix = "/v1/"

    /// `projects/P/databases/D`.
    let database: String
    /// The segments after `documents`.
    let segments: [String]
    /// The name after the last colon, if it is one of ``methods``.
    let method: String?

    /// - Parameters:
    ///   - path: the path, without a query.
    ///   - methods: the custom methods; other colons belong to the resource.
    /// - Returns: nil for a path of no resource.
    init?(_ path: String, methods: some Collection<String>) {
        guard path.hasPrefix(Self.prefix) else { return nil }
        var rest = path.dropFirst(Self.prefix.count)
        var found: String?
        if let colon = rest.lastIndex(of: ":") {
            let name = String(rest[rest.index(after: colon)...])
            if methods.contains(name) { (rest, found) = (rest[..<colon], name) }
        }
        var parts: [String] = []
        for part in rest.split(separator: "/", omittingEmptySubsequences: false) {
            guard !part.isEmpty, let plain = Self.decoded(part) else { return nil }
            parts.append(plain)
        }
        guard parts.count >= 5, parts[0] == "projects", parts[2] == "databases",
            parts[4] == "documents"
        else { return nil }
        database = parts[..<4].joined(separator: "/")
        segments = Array(parts[5...])
        method = found
    }

    /// The resource name.
    var resource: String { Self.name(database, segments) }

    /// The resource name without the last segment.
    var parent: String { Self.name(database, segments.dropLast()) }

    private static func name(_ database: String, _ segments: some Collection<String>) -> String {
        ([database, "documents"] + segments).joined(separator: "/")
    }

    private static func decoded(_ part: Substring) -> String? {
        guard part.contains("%") else { return String(part) }
        // A slash would be a boundary of segments.
        let kept = part.replacing("%2F", with: "%252F").replacing("%2f", with: "%252f")
        return PercentText.decoded(kept)
    }
}

/// The parameters of a query.
///
/// Names are in lower camel case, as proto3's JSON has them; snake case is converted.
struct JSONQuery: Equatable {
    typealias Parameter = (name: String, value: String)

    /// The parameters in their order, without those of all of Google's APIs.
    let parameters: [Parameter]

    /// - Returns: nil for text that is not percent-encoded UTF-8.
    init?(_ query: Substring) {
        var parameters: [Parameter] = []
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(pair[0]),
                let value = pair.count > 1 ? Self.decoded(pair[1]) : ""
            else { return nil }
            if !Self.isOfSystem(name, value) { parameters.append((Self.camelCase(name), value)) }
        }
        self.parameters = parameters
    }

    static func == (left: JSONQuery, right: JSONQuery) -> Bool {
        left.parameters.elementsEqual(right.parameters, by: ==)
    }

    /// True if a parameter belongs to all of Google's APIs, and changes no answer here.
    private static func isOfSystem(_ name: String, _ value: String) -> Bool {
        // Google's libraries ask for numbers in place of the names of enums; responses have none.
        if name == "alt" || name == "$alt" { return value.hasPrefix("json") }
        let known = [
            "access_token", "fields", "key", "oauth_token", "prettyPrint", "quotaUser",
            "upload_protocol", "uploadType",
        ]
        return known.contains(name) || name.hasPrefix("$")
    }

    private static func decoded(_ text: Substring) -> String? {
        PercentText.decoded(text, isForm: true)
    }

    private static func camelCase(_ name: String) -> String {
        guard name.contains("_") else { return name }
        var text = ""
        var isUpper = false
        for character in name {
            if character == "_" {
                isUpper = true
            } else {
                text += isUpper ? character.uppercased() : String(character)
                isUpper = false
            }
        }
        return text
    }
}
