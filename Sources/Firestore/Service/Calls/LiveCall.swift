import GRPCCore

/// A call of many requests and answers that is served from its connection.
///
/// gRPC's way takes tasks that last as long as the call, which waits most of the time. Here nothing
/// is left of it between two requests, or two answers, but an object. The event loop of the
/// connection alone uses it.
protocol LiveCall: AnyObject {
    /// Whether the request before is still being served, so that the next one waits.
    var isBusy: Bool { get }

    /// Takes a request.
    func take(_ request: [UInt8])

    /// Hears that there are no more requests.
    func finish()

    /// Hears that the call has ended, for whichever reason; called once.
    func close()
}

/// A method whose calls are live.
struct LiveMethod: Sendable {
    /// What is called.
    let method: MethodDescriptor
    /// Begins to serve a call.
    let open: @Sendable (Call, CallHeaders, CallServing) -> any LiveCall
}
