import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("The law of storage")
struct StorageLawTests {
    @Test("a store in memory answers as the model does, after any transactions")
    func inMemory() throws {
        let random = SeededRandom()
        let store = try Store(.inMemory())
        var law = try StorageLaw(random)
        let violation = try law.violation(of: StoreUnderLaw(store: store), transactions: 1000)
        #expect(violation == nil, "\(random)")
        #expect(try store.check().isClean, "\(random)")
    }

    @Test("a store on disk answers as the model does, also after opening it again")
    func onDisk() throws {
        let random = SeededRandom()
        let directory = try TemporaryDirectory()
        var law = try StorageLaw(random)
        var configuration = StoreConfiguration(directory: directory.file("s"))
        configuration.durability = .lastCommitAtRisk
        configuration.coldFieldBytes = 16
        for _ in 0..<5 {
            let store = try Store(configuration)
            let violation = try law.violation(of: StoreUnderLaw(store: store), transactions: 40)
            #expect(violation == nil, "\(random)")
            #expect(try store.check().isClean, "\(random)")
            try store.close()
        }
    }
}
