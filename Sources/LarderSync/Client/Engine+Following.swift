import Dispatch
import LarderModel
import LarderStorage

extension Engine {
    /// From now on tells listeners of the commits of the process that writes.
    func follow() {
        guard let directory = localStore.store.directory else { return }
        do throws(LarderError) {
            watch = try FileWatch(path: directory + "/data.mdb", queue: executor.queue) {
                self.assumeIsolated { $0.notice() }
            }
        } catch {
            log("listeners will not hear of other processes: \(error)")
        }
    }

    private func notice() {
        noticeCount += 1
        catchUp(with: noticeCount, milliseconds: 1)
    }

    /// Brings the views up to date when there is a commit that they have not seen, and looks
    /// again in growing steps until a second has passed.
    ///
    /// The file is written to a moment before its commit can be read, so the last notice of a
    /// commit may come too early to find it.
    private func catchUp(with notice: Int, milliseconds: Int) {
        // A later notice looks for itself.
        guard notice == noticeCount, !isTerminated else { return }
        do throws(LarderError) {
            let commit = try localStore.store.read { (transaction) throws(LarderError) in
                transaction.commitNumber
            }
            if commit != followedCommit {
                followedCommit = commit
                refresh()
            }
        } catch {
            log("a listener could not follow another process: \(error)")
        }
        guard milliseconds < 1000 else { return }
        executor.queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in
            self?.assumeIsolated { $0.catchUp(with: notice, milliseconds: milliseconds * 2) }
        }
    }
}
