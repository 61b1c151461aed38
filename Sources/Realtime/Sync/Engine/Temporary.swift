import LarderCore
import LarderRealtimeModel
import LarderRuntime

extension DatabaseEngine {
    func dataChanged(at path: TreePath) {}
    func writeMade(_ request: WriteRequest) {}
    func runTransaction(
        at path: TreePath, localEvents: Bool, _ update: @escaping TransactionUpdate,
        _ completion: @escaping Completion<TransactionOutcome>
    ) {}
    func resumeTransactions(at path: TreePath, _ update: @escaping TransactionUpdate) {}
}
