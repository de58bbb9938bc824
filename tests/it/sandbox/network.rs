//! The one way out: a proxy to what a rule allows, and to nothing of the server's own network.

use std::{
    io::{self, Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpListener},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use forge::adapters::{
    model::Names,
    proxy::{Proxy, Refusal, Target, Visit},
    reach::Hosts,
    sandbox::{Mode, Network, capture},
};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::support::{Place, Said, place};

/// Answers whatever is asked with what it heard, and keeps that.
struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keep = heard.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (Ok(mut connection), keep) = (connection, keep.clone()) else { return };
                std::thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    let length = connection.read(&mut bytes).unwrap_or(0);
                    keep.lock().unwrap().push(String::from_utf8_lossy(&bytes[..length]).into());
                    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
                    let _ = connection.write_all(answer.as_bytes());
                });
            }
        });
        Self { address, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// Says of each name one thing the first time, and the last thing from then on.
#[derive(Debug)]
struct Answers(Mutex<Vec<Vec<IpAddr>>>);

impl Names for Answers {
    fn find(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut answers = self.0.lock().unwrap();
        let found = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        let found = if name.contains("nowhere") { Vec::new() } else { found };
        async move { Ok(found) }.boxed()
    }
}

fn names(answers: &[&[&str]]) -> Arc<Answers> {
    let answers = answers.iter().map(|it| it.iter().map(|it| it.parse().unwrap()).collect());
    Arc::new(Answers(Mutex::new(answers.collect())))
}

/// A proxy that lets through to hosts that begin with `good`, wherever they are, and to no others.
fn proxy() -> Proxy {
    proxy_with(names(&[&["127.0.0.1"]]), &["good.test"])
}

fn proxy_with(names: Arc<Answers>, private: &[&str]) -> Proxy {
    let judge = |target: &Target| match target.to_string().starts_with("good") {
        true => Ok(()),
        false => Err(Refusal::NoRule),
    };
    Proxy::new(Hosts::new(private.iter().copied(), names), Arc::new(judge))
}

async fn run(place: &Place, mode: Mode, proxy: &Proxy, script: &str) -> Said {
    let mut command = place.command(script);
    command.network = Network::Door;
    let mut running = place.in_mode(mode).spawn(command).await.unwrap();
    let door = running.take_door();
    assert!(door.is_some(), "{mode:?} has no door here");
    let captured = proxy.serve_while(door.as_ref(), capture(&mut running, None, |_| ())).await;
    let captured = captured.unwrap();
    Said { text: captured.transcript.text(None), captured }
}

fn visit<'a>(visits: &'a [Visit], host: &str) -> &'a Visit {
    let found = visits.iter().find(|it| it.target.to_string() == host);
    found.unwrap_or_else(|| panic!("no visit of {host} in {visits:?}"))
}

#[tokio::test]
async fn a_host_that_a_rule_allows_is_reached_and_no_other() {
    let place = place().await;
    let server = Server::start();
    let port = server.address.port();
    for mode in place.modes() {
        let proxy = proxy();
        let script = format!(
            "curl -sS http://good.test:{port}/a?b; curl -sSp http://good.test:{port}/tunnel; \
             curl -sS http://bad.test:{port}/; echo; \
             curl -sSp http://bad.test:{port}/ || echo refused; \
             curl -sS --max-time 5 http://good.nowhere/; true"
        );
        let said = run(&place, mode, &proxy, &script).await;
        assert!(said.text.starts_with("hello\nhello\n"), "{mode:?}: {said:?}");
        assert!(said.text.contains("no rule allows it") && said.text.contains("refused"));
        let visits = proxy.traffic().visits();
        let good = visit(&visits, &format!("good.test:{port}"));
        assert_eq!((good.connections, &good.refused), (2, &None), "{mode:?}");
        assert!(good.bytes > 100, "{good:?}");
        let bad = visit(&visits, &format!("bad.test:{port}"));
        assert_eq!((bad.connections, bad.refused.as_ref()), (0, Some(&Refusal::NoRule)));
        assert_eq!(visit(&visits, "good.nowhere").refused, Some(Refusal::Unknown));
    }
    let heard = server.heard();
    assert!(heard.iter().all(|it| !it.contains("bad.test")), "{heard:?}");
    assert!(heard[0].starts_with("GET /a?b HTTP/1.1\r\nHost: good.test:"), "{heard:?}");
    assert!(heard.iter().all(|it| !it.contains("Proxy-")), "{heard:?}");
}

#[tokio::test]
async fn a_connection_ends_when_its_host_may_not_be_reached_any_more() {
    let place = place().await;
    // Says a little, and keeps whoever came waiting for the rest.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut connection in listener.incoming().flatten() {
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome");
            kept.push(connection);
        }
    });
    let asked = AtomicUsize::new(0);
    let only_once = move |_: &Target| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(()),
        _ => Err(Refusal::NoRule),
    };
    let hosts = Hosts::new(["127.0.0.1"], names(&[&["127.0.0.1"]]));
    let proxy = Proxy::new(hosts, Arc::new(only_once));
    let script = format!("curl -sS --noproxy '' --max-time 30 http://127.0.0.1:{port}/; echo $?");
    let said = run(&place, place.modes()[0], &proxy, &script).await;
    // What ended it was the proxy, long before the program's own patience.
    assert!(said.text.contains("some") && !said.text.trim_end().ends_with("28"), "{said:?}");
    let visits = proxy.traffic().visits();
    let one = visit(&visits, &format!("127.0.0.1:{port}"));
    assert_eq!((one.connections, one.refused.as_ref()), (1, Some(&Refusal::NoRule)));
}

#[tokio::test]
async fn case_48_the_own_network_is_refused_however_it_is_named() {
    let place = place().await;
    let server = Server::start();
    let port = server.address.port();
    let everything = |_: &Target| Ok(());
    for mode in place.modes() {
        let hosts = Hosts::new([], names(&[&["10.0.0.1"]]));
        let proxy = Proxy::new(hosts, Arc::new(everything));
        let addresses = [
            format!("http://127.0.0.1:{port}/"),
            format!("http://127.1:{port}/"),
            format!("http://2130706433:{port}/"),
            format!("http://0x7f.0.0.1:{port}/"),
            format!("http://[::1]:{port}/"),
            format!("http://[::ffff:127.0.0.1]:{port}/"),
            format!("http://0.0.0.0:{port}/"),
            "http://169.254.169.254/latest/meta-data/".into(),
            "http://100.100.100.200/".into(),
            "http://[fd00:ec2::254]/".into(),
            "http://10.1.2.3/".into(),
            "http://192.168.0.1/".into(),
            "http://rebound.test/".into(),
        ];
        for address in &addresses {
            // Also where the command would not use its proxy by itself.
            let script = format!(
                "curl -g -sS --noproxy '' -w '%{{http_code}}' {address}; \
                 curl -g -sSp --noproxy '' -o /dev/null {address} 2>&1"
            );
            let said = run(&place, mode, &proxy, &script).await;
            assert!(said.text.contains("403"), "{address} in {mode:?}: {said:?}");
            assert!(!said.text.contains("hello"), "{address} in {mode:?}: {said:?}");
        }
        let visits = proxy.traffic().visits();
        let refused = |it: &Visit| it.connections == 0 && it.refused == Some(Refusal::OwnNetwork);
        assert!(visits.iter().all(refused), "{visits:?}");
    }
    assert_eq!(server.heard(), [""; 0], "somebody got through");
}

#[tokio::test]
async fn case_48_a_name_is_resolved_once_and_every_address_of_it_looked_at() {
    let place = place().await;
    let mode = place.modes()[0];
    // One address of the own network is one too many.
    let proxy = proxy_with(names(&[&["1.1.1.1", "127.0.0.1"]]), &[]);
    let said =
        run(&place, mode, &proxy, "curl -sS -o /dev/null -w '%{http_code}' http://good/").await;
    assert_eq!(said.text, "403", "{said:?}");
    // What a name says the second time is not asked for: it would be the server of this test.
    let server = Server::start();
    let both = names(&[&["192.0.2.1"], &["127.0.0.1"]]);
    let proxy = proxy_with(both.clone(), &["good.test"]);
    let address = format!("http://good.test:{}/", server.address.port());
    let said = run(&place, mode, &proxy, &format!("curl -sS --max-time 2 {address}; true")).await;
    assert!(!said.text.contains("hello"), "{said:?}");
    assert_eq!(both.0.lock().unwrap().len(), 1, "it was asked once");
    assert_eq!(server.heard(), [""; 0]);
}

#[tokio::test]
async fn there_is_no_way_past_the_proxy() {
    let place = place().await;
    let server = Server::start();
    let port = server.address.port();
    for mode in place.modes() {
        let proxy = proxy();
        for script in [
            format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo LEAK"),
            format!("curl -sS --noproxy '*' --max-time 2 http://127.0.0.1:{port}/ && echo LEAK"),
            "exec 3<>/dev/tcp/1.1.1.1/443 && echo LEAK".into(),
            "perl -MSocket -e 'socket(S,AF_INET,SOCK_STREAM,262)&&print \"LEAK\"'".into(),
            format!(
                "perl -MSocket -e 'socket(S,AF_INET,SOCK_STREAM,0); \
                 send(S,\"x\",0x20000000,pack_sockaddr_in({port},inet_aton(\"127.0.0.1\"))) \
                 and print \"LEAK\"'"
            ),
        ] {
            let said = run(&place, mode, &proxy, &script).await;
            // A network of one's own may have sockets of any kind: they lead nowhere.
            let may_be_made = mode == Mode::Namespaces && script.contains("262");
            assert!(may_be_made || !said.text.contains("LEAK"), "{script} in {mode:?}: {said:?}");
        }
        if mode == Mode::Landlock {
            for script in [
                "exec 3<>/dev/udp/127.0.0.1/9 && echo x >&3 && echo LEAK",
                "perl -MSocket -e 'socket(S,AF_INET,SOCK_STREAM,0);listen(S,1)&&print \"LEAK\"'",
                "perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0) && print \"LEAK\"'",
            ] {
                let said = run(&place, mode, &proxy, script).await;
                assert!(!said.text.contains("LEAK"), "{script} in {mode:?}: {said:?}");
            }
        }
    }
    assert_eq!(server.heard(), [""; 0], "somebody got past the proxy");
}

#[tokio::test]
async fn the_proxy_of_one_command_is_not_open_to_others() {
    let place = place().await;
    if !place.modes().contains(&Mode::Landlock) {
        return;
    }
    let server = Server::start();
    let mut command = place.command("echo $HTTP_PROXY; sleep 20");
    command.network = Network::Door;
    let mut running = place.in_mode(Mode::Landlock).spawn(command).await.unwrap();
    let door = running.take_door().unwrap();
    let address = format!("http://good.test:{}/", server.address.port());
    let port = door.listener.local_addr().unwrap().port();
    let proxy = proxy();
    let ask = |login: &str| {
        let mut command = tokio::process::Command::new("curl");
        command.args(["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-x"]);
        command.arg(format!("http://{login}127.0.0.1:{port}")).arg(&address);
        async move { String::from_utf8(command.output().await.unwrap().stdout).unwrap() }
    };
    let knocking = async { [ask("").await, ask("forge:guess@").await] };
    let answers = proxy.serve_while(Some(&door), knocking).await;
    assert_eq!(answers, ["407", "407"]);
    assert_eq!(server.heard(), [""; 0]);
    running.kill();
    running.wait().await.unwrap();
}

#[tokio::test]
async fn connections_end_with_their_command() {
    let place = place().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for mode in place.modes() {
        let proxy = proxy();
        let script = format!("curl -sSN http://good.test:{port}/ & sleep 0.5");
        let said = run(&place, mode, &proxy, &script).await;
        assert!(said.is_good(), "{said:?}");
        let (mut connection, _) = listener.accept().unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut all = Vec::new();
        connection.read_to_end(&mut all).unwrap();
        assert!(all.starts_with(b"GET / "), "it was asked, and then cut off: {all:?}");
    }
}
