/// What a step of loading a bundle has done.
package struct BundleStep: Sendable {
    /// What an observer is told, in order.
    package var progress: [LoadBundleProgress] = []
    /// Documents that changed in the cache, as the user sees them.
    package var changes: [LocalViewChange] = []
    /// Targets that came into use, as they are now.
    ///
    /// They keep the bundle's documents from
    /// eviction while they are pinned; what an engine knows of them otherwise is out of date.
    package var targets: [TargetData] = []

    /// A step that has done nothing.
    package init() {}
}
