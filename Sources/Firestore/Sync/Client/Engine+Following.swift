import LarderDocumentStore
import LarderModel
import LarderPlanning

/// The progress of a client that follows the commits of the process that writes.
struct Follower {
    /// The commit that the views show.
    var commit: UInt64 = 0
    /// The wait before the next check for a commit.
    var delay = Duration.zero
}

extension Engine {
    /// Shows the commits of the writing process to listeners from now on.
    func follow() {
        guard let directory = store.directory else { return }
        do throws(LarderError) {
            // The engine holds the watch, which must not hold the engine.
            watch = try scheduler.watch(directory + "/data.mdb") { [weak self] in
                self?.assumeIsolated { $0.catchUp(nextDelay: .milliseconds(1)) }
            }
        } catch {
            log("listeners will not receive changes of other processes: \(error)")
        }
    }

    /// Brings the views up to date with a new commit, and checks again in growing steps until a
    /// second has passed.
    ///
    /// The file is written a moment before its commit can be read, so that the last notification
    /// of a commit may come too early to find it.
    func catchUp(nextDelay: Duration) {
        guard !isTerminated else { return }
        do throws(LarderError) {
            let commit = try store.read { (transaction) throws(LarderError) in
                transaction.commitNumber
            }
            if commit != follower.commit, refresh() { follower.commit = commit }
        } catch {
            log("a listener could not follow another process: \(error)")
        }
        guard nextDelay < .seconds(1) else { return }
        follower.delay = nextDelay * 2
        schedule(.following, after: nextDelay)
    }

    /// - Returns: whether all views are up to date.
    private func refresh() -> Bool {
        var isComplete = true
        let (runner, user) = (session.runner, session.user)
        for query in views.queries {
            guard let view = views.view(of: query) else { continue }
            do throws(LarderError) {
                let changes = try store.read { (transaction) throws(LarderError) in
                    try view.changes(to: transaction, running: runner, of: user)
                }
                apply(changes)
            } catch {
                log("a listener could not follow another process: \(error)")
                isComplete = false
            }
        }
        return isComplete
    }
}
