/// The database that a request to a server is for.
package enum RequestedNamespace {
    /// The name that the parameter `ns` of a request has, else the first of three labels of its
    /// host; nil if the request names none.
    package static func name(parameter: String?, host: String) -> String? {
        if let parameter, !parameter.isEmpty { return parameter }
        let name = host.prefix { $0 != ":" }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count == 3, labels.allSatisfy({ !$0.isEmpty }) else { return nil }
        return labels[0].lowercased()
    }
}
