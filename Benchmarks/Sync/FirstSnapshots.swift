import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync

/// How long a listener waits for its first snapshot of cached documents that the backend has told
/// of before, beside running the query alone.
struct FirstSnapshots {
    let directory: String
    let figures: Figures

    func callAsFunction(rounds: Int) throws(LarderError) {
        let client = try MeasuredClient(directory: directory)
        let query = Query(.collection(try CollectionPath("cities")))
        let documents = try client.client.run(query).documents
        for registration in client.listen(to: [query], with: [documents]) { registration.remove() }
        client.settle()
        for round in -1..<rounds {
            let target = client.told.count + 1
            let start = Elapsed.now
            let registration = client.listen(to: query)
            client.told.wait(for: target)
            let listened = Elapsed.now
            let count = try client.client.run(query).documents.count
            let ran = Elapsed.now
            guard count == documents.count else {
                throw LarderError(.internal, "\(count) of \(documents.count) documents found")
            }
            registration.remove()
            client.settle()
            guard round >= 0 else { continue }
            figures.add("first", .larder, listened - start, units: 1)
            figures.add("first", .reference, ran - listened, units: 1)
        }
        try client.close()
    }
}
