/// The bytes of an overlay's change in the store.
///
///     payload      format (1 byte, 1) | head (1 byte) | mask if it is a patch
///     head         bits 0-1  0 set, 1 patch, 2 delete
///                  bit 2     depends on contents
///                  bits 3-7  0
///
/// A mask is as in the payload of a batch: a count, and paths behind their sizes. The fields are
/// not in it: the overlay's row has the view beside the payload.
extension OverlayMutation {
    private static let format: UInt8 = 1
    private static let depends: UInt8 = 4

    /// The change's bytes.
    package var payload: [UInt8] {
        var writer = PayloadWriter(capacity: 16)
        writer.byte(Self.format)
        let flags = dependsOnContents ? Self.depends : 0
        switch operation {
        case .set: writer.byte(flags)
        case .patch(let mask):
            writer.byte(flags | 1)
            writer.mask(mask)
        case .delete: writer.byte(flags | 2)
        }
        return writer.bytes
    }

    /// Reads the bytes of a change.
    ///
    /// - Throws: `dataLoss` for any bytes that no change has.
    package init(payload: [UInt8]) throws(LarderError) {
        let result: Result<OverlayMutation, LarderError> = payload.withUnsafeBytes { bytes in
            Result { () throws(LarderError) in
                var reader = PayloadReader(bytes)
                return try OverlayMutation(from: &reader)
            }
        }
        self = try result.get()
    }

    private init(from reader: inout PayloadReader) throws(LarderError) {
        guard try reader.byte() == Self.format else {
            throw PayloadReader.damage("an unknown format")
        }
        let head = try reader.byte()
        switch head & ~Self.depends {
        case 0: operation = .set
        case 1: operation = .patch(try reader.mask())
        case 2: operation = .delete
        default: throw PayloadReader.damage("an unknown kind of overlay")
        }
        dependsOnContents = head & Self.depends != 0
        try reader.finish()
    }
}
