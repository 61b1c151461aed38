/// The single change that turns a cached document into a user's local view.
///
/// The store keeps the fields of the view beside it.
package struct OverlayMutation: Sendable, Equatable {
    /// The effect on the document.
    package enum Operation: Sendable, Equatable {
        /// The view replaces the document.
        case set
        /// Each path of the mask takes the view's value, or is deleted if the view has none.
        case patch(FieldMask)
        case delete
    }

    package let operation: Operation
    /// True if the pending writes must be applied again when the cached document changes, even if
    /// its existence does not.
    package let dependsOnContents: Bool
    /// Facts about the pending writes; nil if unknown.
    package let history: OverlayHistory?

    package init(
        _ operation: Operation, dependsOnContents: Bool = false, history: OverlayHistory? = nil
    ) {
        self.operation = operation
        self.dependsOnContents = dependsOnContents
        self.history = history
    }

    /// The local view of a changed document, derived from the previous view.
    ///
    /// Equivalent to applying the pending writes again, as long as ``dependsOnContents`` is false
    /// and the document's existence has not changed.
    package func applied(
        to document: WorkingDocument, view: Record?, using builder: RecordBuilder
    ) throws(LarderError) -> Record? {
        guard case .patch(let mask) = operation, let view else { return view }
        return try builder.patch(document.record, with: view, mask: mask)
    }
}

extension WorkingDocument {
    /// The single change that produces this local view; nil if it contains no pending write.
    ///
    /// - Parameter isCached: true if the cached document exists with known fields; otherwise the
    ///   view is stored whole.
    package func overlay(overFound isCached: Bool) -> OverlayMutation? {
        guard hasLocalMutations else { return nil }
        var operation = isFound ? OverlayMutation.Operation.set : .delete
        if isFound, isCached, case .fields(let paths) = changes {
            operation = .patch(FieldMask(paths))
        }
        return OverlayMutation(
            operation, dependsOnContents: dependsOnContents, history: history)
    }
}

// MARK: - Coding

/// The encoded overlay mutation in the store.
///
///     payload      format (1 byte, 1) | head (1 byte) | mask if it is a patch |
///                  history if it is known
///     head         bits 0-1  0 set, 1 patch, 2 delete
///                  bit 2     depends on contents
///                  bit 3     a history follows
///                  bits 4-7  0
///
/// A mask is encoded as in a batch's payload: a count, and paths preceded by their sizes. The
/// fields are not included: the overlay's row contains the view beside the payload.
extension OverlayMutation {
    private static let format: UInt8 = 1
    private static let depends: UInt8 = 4
    private static let hasHistory: UInt8 = 8

    package var payload: [UInt8] {
        var writer = PayloadWriter(capacity: 16)
        writer.byte(Self.format)
        let flags =
            (dependsOnContents ? Self.depends : 0) | (history == nil ? 0 : Self.hasHistory)
        switch operation {
        case .set: writer.byte(flags)
        case .patch(let mask):
            writer.byte(flags | 1)
            writer.mask(mask)
        case .delete: writer.byte(flags | 2)
        }
        history?.write(to: &writer)
        return writer.bytes
    }

    /// - Throws: `dataLoss` for malformed bytes.
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
        switch head & ~(Self.depends | Self.hasHistory) {
        case 0: operation = .set
        case 1: operation = .patch(try reader.mask())
        case 2: operation = .delete
        default: throw PayloadReader.damage("an unknown kind of overlay")
        }
        dependsOnContents = head & Self.depends != 0
        history =
            head & Self.hasHistory == 0 ? nil : try OverlayHistory(from: &reader)
        try reader.finish()
    }
}
