import Foundation
import Hummingbird
import Larder
import ServiceLifecycle

/// The HTTP interface of the service.
struct OrderRoutes: Sendable {
    let orders: Orders

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("orders") { _, _ in try await orders.all() }
        router.post("orders") { request, context in
            let order = try await request.decode(as: OrderRequest.self, context: context)
            guard !order.item.isEmpty, order.count > 0 else {
                throw HTTPError(.badRequest, message: "an order has an item and a count")
            }
            return EditedResponse(
                status: .created, response: try await orders.add(order.item, count: order.count))
        }
        router.get("orders/events", use: events)
        router.get("orders/:id") { _, context in try await order(of: context) }
        router.put("orders/:id/served") { _, context in
            try await orders.serve(order(of: context))
            return HTTPResponse.Status.noContent
        }
        router.delete("orders/:id") { _, context in
            try await orders.remove(order(of: context))
            return HTTPResponse.Status.noContent
        }
        router.get("health") { _, _ in try await Health(of: orders.db) }
        router.get("metrics") { _, _ in try metrics(of: orders.db) }
        return router
    }

    /// The order that the path of a request names.
    private func order(of context: BasicRequestContext) async throws -> Order {
        guard let order = try await orders.find(context.parameters.require("id")) else {
            throw HTTPError(.notFound, message: "there is no such order")
        }
        return order
    }

    /// Sends orders as server-sent events, until the client or the service ends the response.
    @Sendable private func events(_ request: Request, _ context: BasicRequestContext) -> Response {
        let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        let body = ResponseBody { writer in
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                for try await snapshot in orders.changes.cancelOnGracefulShutdown() {
                    for change in snapshot.documentChanges(includeMetadataChanges: true) {
                        try await writer.write(Self.event(change))
                    }
                }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    private static func event(_ change: DocumentChange) throws -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(Orders.order(change.document))
        return ByteBuffer(
            string: "event: \(change.type)\ndata: \(String(decoding: data, as: UTF8.self))\n\n")
    }
}
