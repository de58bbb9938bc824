fn main() {
    run()?;
}
