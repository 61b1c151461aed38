import CLarder
import LarderRealtimeModel
import LarderStorage

/// The core's builder, as the place that a read fills.
struct NodeBuffer: ~Copyable {
    private let builder: OpaquePointer

    init() throws(LarderError) {
        var created: OpaquePointer?
        try call { larder_node_builder_create(nil, &created, $0) }
        guard let created else {
            throw LarderError(realtime: .resourceExhausted, "no memory for a node")
        }
        builder = created
    }

    deinit {
        larder_node_builder_close(builder)
    }

    /// Calls a read of the core, and decodes what it has put into the builder.
    ///
    /// - Parameter compressor: what compresses the children of a large tree; nil for none.
    /// - Returns: what was decoded, and the status of the read.
    borrowing func read<R>(
        compressor: ChildrenCompressor? = nil,
        _ read: (OpaquePointer, UnsafeMutablePointer<larder_error>) -> Int32,
        _ decode: (inout NodeReader) throws(LarderError) -> R
    ) throws(LarderError) -> (R, Int32) {
        let status = try call { read(builder, $0) }
        var bytes = larder_bytes.none
        try call { larder_node_builder_finish(builder, &bytes, $0) }
        var reader = NodeReader(bytes.buffer, compressor)
        return (try decode(&reader), status)
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The node that a read of the core finds; empty if it finds none.
    ///
    /// - Parameter compressor: what compresses the children of a large tree; nil for none.
    func node(
        compressor: ChildrenCompressor? = nil,
        _ read: (OpaquePointer, UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) -> Node {
        try NodeBuffer().read(compressor: compressor, read) { reader throws(LarderError) in
            try reader.readRest()
        }.0
    }
}
