import LarderDocumentStore
import LarderModel

extension Engine {
    /// From now on tells listeners of the commits of the process that writes.
    func follow() {
        guard let directory = store.directory else { return }
        do throws(LarderError) {
            // The engine holds the watch, which must not hold the engine.
            watch = try scheduler.watch(directory + "/data.mdb") { [weak self] in
                self?.assumeIsolated { $0.catchUp(nextDelay: .milliseconds(1)) }
            }
        } catch {
            log("listeners will not hear of other processes: \(error)")
        }
    }

    /// Brings the views up to date when there is a commit that they have not seen, and looks
    /// again in growing steps until a second has passed.
    ///
    /// The file is written to a moment before its commit can be read, so the last notice of a
    /// commit may come too early to find it.
    func catchUp(nextDelay: Duration) {
        guard !isTerminated else { return }
        do throws(LarderError) {
            let commit = try store.read { (transaction) throws(LarderError) in
                transaction.commitNumber
            }
            if commit != followedCommit, refresh() { followedCommit = commit }
        } catch {
            log("a listener could not follow another process: \(error)")
        }
        guard nextDelay < .seconds(1) else { return }
        followingDelay = nextDelay * 2
        schedule(.following, after: nextDelay)
    }
}
