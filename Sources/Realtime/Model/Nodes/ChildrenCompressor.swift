import LarderCore

/// Compresses the children of a large tree while the tree is read.
///
/// For a server, whose trees are in memory as a whole and used in part. Small trees stay as they
/// are: what is read first is not compressed.
package final class ChildrenCompressor {
    /// The estimated size of what is not compressed.
    private static let uncompressedBytes = 1 << 20
    /// The estimated size of children that are compressed together.
    ///
    /// Smaller ones gain little by themselves, and of larger ones too much is made again for one that
    /// is asked for. A run of the most children of the least size is below the upper bound, so that
    /// no size of children is left out.
    private static let runBytes = 1 << 10...40 << 10

    private let frames: CompressedFrames
    private var writer = ChildrenWriter()
    private var uncompressedBytes: Int

    /// Nil if there is no memory for it.
    package convenience init?() {
        self.init(uncompressedBytes: Self.uncompressedBytes)
    }

    init?(uncompressedBytes: Int) {
        guard let frames = CompressedFrames.shared else { return nil }
        self.frames = frames
        self.uncompressedBytes = uncompressedBytes
    }

    /// Children as they are kept in a run; nil for an array.
    func pack(_ children: some Collection<Child>) -> PackedChildren? {
        var summary = ChildrenSummary()
        for child in children { summary.add(child.summary) }
        return compress(summary, count: children.count) { $0.append(children) }
            ?? PackedChildren(children)
    }

    /// Leaves, compressed; nil if they stay as they are.
    func compress(_ leaves: PackedLeaves) -> PackedChildren? {
        compress(leaves.summary, count: leaves.count) {
            $0.append((0..<leaves.count).map { leaves[$0] })
        }
    }

    private func compress(
        _ summary: ChildrenSummary, count: Int, _ write: (inout ChildrenWriter) -> Bool
    ) -> PackedChildren? {
        guard Self.runBytes.contains(summary.estimatedSize) else { return nil }
        guard uncompressedBytes <= 0 else {
            uncompressedBytes -= summary.estimatedSize
            return nil
        }
        writer.reset()
        guard write(&writer) else { return nil }
        let frame = writer.bytes.withUnsafeBytes { bytes in
            frames.compress(bytes, atMost: bytes.count * 3 / 4)
        }
        guard let frame else { return nil }
        return .compressed(
            CompressedChildren(
                count: count, summary: summary, frames: frames, frame: frame,
                frameContentBytes: writer.bytes.count))
    }
}
