// Bundles as an application of Apple's SDK loads them. Compiled, never run.

import Foundation
import Larder

private func bundles(_ db: Firestore, _ data: Data, _ stream: InputStream) {
    let task: LoadBundleTask = db.loadBundle(data)
    let handle: LoadBundleObserverHandle = task.addObserver { progress in
        switch progress.state {
        case .inProgress: print(progress.bytesLoaded, progress.totalBytes)
        case .success: print(progress.documentsLoaded, progress.totalDocuments)
        case .error: print("failed")
        @unknown default: break
        }
    }
    task.removeObserverWith(handle: handle)
    task.removeAllObservers()
    db.loadBundle(data) { (progress: LoadBundleTaskProgress?, error: (any Error)?) in
        print(progress?.state == LoadBundleTaskState.success, error as Any)
    }
    db.loadBundle(stream)
    db.loadBundle(stream) { _, _ in }
    db.getQuery(named: "latest") { (query: Query?) in
        query?.getDocuments(source: .cache) { _, _ in }
    }
}

private func bundlesAsync(_ db: Firestore, _ data: Data) async throws {
    let progress: LoadBundleTaskProgress = try await db.loadBundle(data)
    print(progress.documentsLoaded)
    if let query = await db.getQuery(named: "latest") {
        print(try await query.getDocuments(source: .cache).count)
    }
}
