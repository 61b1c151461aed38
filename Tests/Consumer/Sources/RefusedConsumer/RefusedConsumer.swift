/// A program that is never built: its product needs a trait which the package does not set.
@main
struct RefusedConsumer {
    static func main() {}
}
