// Tests of Firestore's modules see the support that knows no database.
@_exported public import LarderSharedTestSupport
package import LarderSync

/// The scheduler of an engine of Firestore.
package typealias ManualScheduler = LarderSharedTestSupport.ManualScheduler<EngineTimer>
