// Starts the tests. SwiftPM would write an entry point itself, but only from an index of the whole
// build, which it does not need otherwise and which takes a quarter of the time of building.
import Testing

@main
struct Tests {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
