import HashTreeCollections
import LarderModel
import LarderRemote

extension WatchAggregator {
    /// Compares the number of documents in a target with the backend's.
    ///
    /// Where they differ and the filter does not tell which documents are too many, the target
    /// is emptied, to be asked for anew.
    ///
    /// - Returns: what was wrong with the count or the filter.
    mutating func handleFilter(
        of id: Int32, _ count: Int, _ unchanged: BloomFilterBits?, _ knowledge: some WatchKnowledge
    ) -> LarderError? {
        guard let target = activeTarget(id, knowledge) else { return nil }
        if let path = target.document {
            guard count == 0 else {
                return count == 1 ? nil : .invalidArgument("one document was counted as \(count)")
            }
            let gone = DocumentReading(path: path, contents: .absent, version: .none)
            remove(path, gone, from: id, knowledge)
            return nil
        }
        guard size(of: id, knowledge) != count else { return nil }
        do throws(LarderError) {
            if let filter = try unchanged.map(BloomFilter.init(_:)), !filter.isEmpty {
                removeDocuments(notIn: filter, of: id, knowledge)
                if size(of: id, knowledge) != count {
                    mismatch(id, .existenceFilterMismatchBloom, knowledge)
                }
            } else {
                mismatch(id, .existenceFilterMismatch, knowledge)
            }
            return nil
        } catch {
            mismatch(id, .existenceFilterMismatch, knowledge)
            return error
        }
    }

    /// How many documents a target has after what was told since the last event.
    private func size(of id: Int32, _ knowledge: some WatchKnowledge) -> Int {
        knowledge.remoteKeys(of: id).count + growth(of: id)
    }

    private mutating func mismatch(
        _ id: Int32, _ purpose: WatchTarget.Purpose, _ knowledge: some WatchKnowledge
    ) {
        reset(id, knowledge)
        mismatches[id] = purpose
    }

    /// Takes the documents out of a target that are not in a filter.
    private mutating func removeDocuments(
        notIn filter: BloomFilter, of id: Int32, _ knowledge: some WatchKnowledge
    ) {
        for path in knowledge.remoteKeys(of: id)
        where !filter.contains(path.string, after: documentNames) {
            remove(path, nil, from: id, knowledge)
        }
    }
}
