// snippet: realtime-readme
import LarderRealtime

func bestScores(in directory: String) async throws -> [String] {
    let database = try Database(configuration: .local(directory: directory))
    let scores = database.reference(withPath: "scores")
    scores.enqueueSetValue(["linhenykus": 80, "pterodactyl": 93, "stegosaurus": 5])
    let best = try await scores.queryOrderedByValue().queryLimited(toLast: 2).getData()
    try await database.close()
    return best.childSnapshots.map(\.key)
}
// end
