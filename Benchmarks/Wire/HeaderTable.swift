/// The headers of requests as HTTP/2 compresses them: each is sent in full once on a connection,
/// and by its number after that, as clients of gRPC do.
struct HeaderTable {
    private static let methodPOST: UInt8 = 0x83
    private static let schemeHTTP: UInt8 = 0x86
    /// The last number of the headers that every connection knows.
    private static let staticCount = 61

    /// What has been sent in full, the last first.
    private var sent: [String] = []

    /// The headers of a call of a method, at most a hundred methods a connection.
    mutating func block(for method: String) -> [UInt8] {
        var bytes = [Self.methodPOST, Self.schemeHTTP]
        add(":path", "/google.firestore.v1.Firestore/\(method)", to: &bytes)
        add(":authority", "localhost", to: &bytes)
        add("content-type", "application/grpc", to: &bytes)
        add("te", "trailers", to: &bytes)
        add("authorization", "Bearer owner", to: &bytes)
        add("google-cloud-resource-prefix", Requests.database, to: &bytes)
        return bytes
    }

    private mutating func add(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        if let position = sent.firstIndex(of: name + value) {
            bytes.append(0x80 | UInt8(Self.staticCount + 1 + position))
            return
        }
        sent.insert(name + value, at: 0)
        bytes.append(0x40)
        for text in [name, value] {
            bytes.append(UInt8(text.utf8.count))
            bytes += text.utf8
        }
    }
}
