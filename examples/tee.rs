//! A proxy that forwards every byte as it came, and reads the usage on the way.
//!
//! ```text
//! cargo run --example tee                                     # asks a server that it starts, through the proxy
//! cargo run --example tee -- http://localhost:8000/           # a proxy for that server, until it is stopped
//! ```
#![allow(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::print_stdout,
    reason = "a program needs std, and prints"
)]

mod server;

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use chatwire::{Parser, Usage};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ACCEPT_ENCODING, CONNECTION, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri, client, server as http};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

/// Is told of each answer when it is over: its usage, and what went wrong.
pub(crate) type Seen = Arc<dyn Fn(Option<&Usage>, &[chatwire::Error]) + Send + Sync>;

/// A body that is forwarded as it is. All that is read of it is read from the bytes that pass.
struct Tee {
    body: Incoming,
    is_over: bool,
    parser: Parser,
    errors: Vec<chatwire::Error>,
    seen: Seen,
}

impl Tee {
    fn read(&mut self) {
        while let Some(event) = self.parser.next_event() {
            self.errors.extend(event.err());
        }
    }
}

impl Body for Tee {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => self
                .parser
                .feed(frame.data_ref().map_or(&[], |bytes| bytes)),
            Some(Err(_)) => self.parser.abort(),
            None => self.is_over = true,
        }
        self.read();
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// It is dropped when all is sent, and also when the client or the server went away.
impl Drop for Tee {
    fn drop(&mut self) {
        if self.is_over || self.body.is_end_stream() {
            self.parser.finish();
        } else {
            self.parser.abort();
        }
        self.read();
        (self.seen)(self.parser.completion().usage.as_ref(), &self.errors);
    }
}

async fn forward(
    mut request: Request<Incoming>,
    upstream: &str,
    seen: Seen,
) -> Result<Response<Tee>, Box<dyn Error + Send + Sync>> {
    let stream = TcpStream::connect(upstream).await?;
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(upstream)?);
    headers.remove(CONNECTION);
    // What is compressed cannot be read on the way.
    headers.remove(ACCEPT_ENCODING);
    let mut response = sender.send_request(request).await?;
    response.headers_mut().remove(CONNECTION);
    Ok(response.map(|body| Tee {
        body,
        is_over: false,
        parser: Parser::new(),
        errors: Vec::new(),
        seen,
    }))
}

/// Forwards every request to this host, for ever.
pub(crate) async fn run(listener: TcpListener, upstream: String, seen: Seen) -> io::Result<()> {
    let upstream: Arc<str> = upstream.into();
    loop {
        let (stream, _) = listener.accept().await?;
        let (upstream, seen) = (Arc::clone(&upstream), Arc::clone(&seen));
        tokio::spawn(async move {
            let service = service_fn(|request| forward(request, &upstream, Arc::clone(&seen)));
            // Where the server breaks, the connection to the client is broken too.
            let _ = http::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let seen: Seen = Arc::new(|usage, errors| {
        let tokens = usage.and_then(|usage| usage.total_tokens);
        println!("\ntokens: {tokens:?}, errors: {errors:?}");
    });
    let uri: Uri = server::url()?.parse()?;
    let upstream = uri.authority().ok_or("no host")?.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let proxy = run(listener, upstream, seen);
    if std::env::args().nth(1).is_some() {
        println!("http://{address} forwards to {uri}");
        return Ok(proxy.await?);
    }
    tokio::spawn(proxy);
    let response = reqwest::get(format!("http://{address}{}", uri.path())).await?;
    print!("{}", response.text().await?);
    Ok(())
}
