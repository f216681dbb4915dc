// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import io.netty.channel.Channel;
import io.rmqalloc.witness.Json;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.remoting.RemotingClient;
import org.apache.rocketmq.remoting.RemotingServer;
import org.apache.rocketmq.remoting.exception.RemotingTimeoutException;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import ${protocol}.ResponseCode;
import ${protocol}.header.namesrv.GetRouteInfoRequestHeader;

/** Objects that stand for what is stubbed. */
final class Stubs {
    private static final Object UNSAFE = unsafe();

    private Stubs() {
    }

    private static Object unsafe() {
        try {
            Field field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return field.get(null);
        } catch (ReflectiveOperationException error) {
            throw new LinkageError("no way to make an object without its constructor", error);
        }
    }

    /** An object whose constructor did not run, as that would start half a broker. */
    static <T> T blank(Class<T> kind) throws ReflectiveOperationException {
        return kind.cast(UNSAFE.getClass().getMethod("allocateInstance", Class.class).invoke(UNSAFE, kind));
    }

    static void set(Object object, Class<?> home, String name, Object value) throws ReflectiveOperationException {
        Field field = home.getDeclaredField(name);
        field.setAccessible(true);
        field.set(object, value);
    }

    static Object get(Object object, Class<?> home, String name) throws ReflectiveOperationException {
        Field field = home.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    /** The server's end of all connections: it takes notices. */
    static RemotingServer server(BrokerWorld world) {
        InvocationHandler handler = (proxy, method, arguments) -> {
            if (!method.getName().equals("invokeOneway")) {
                throw new UnsupportedOperationException(method.getName());
            }
            Object header = ((RemotingCommand) arguments[1]).readCustomHeader();
            world.sent((Channel) arguments[0], (String) header.getClass().getMethod("getConsumerGroup").invoke(header));
            return null;
        };
        return (RemotingServer) Proxy.newProxyInstance(
            Stubs.class.getClassLoader(), new Class<?>[] {RemotingServer.class}, handler);
    }

    /** The broker's connections to name servers: they answer with a route, with an error code, or not at all. */
    static RemotingClient client(BrokerWorld world) {
        InvocationHandler handler = (proxy, method, arguments) -> {
            Object header = ((RemotingCommand) arguments[1]).readCustomHeader();
            Object said = world.route(((GetRouteInfoRequestHeader) header).getTopic());
            if ("timeout".equals(said)) {
                throw new RemotingTimeoutException("no answer");
            }
            RemotingCommand response = RemotingCommand.createResponseCommand(null);
            response.setCode(said == null ? ResponseCode.TOPIC_NOT_EXIST : ResponseCode.SYSTEM_ERROR);
            if (said != null && !"error".equals(said)) {
                response.setCode(ResponseCode.SUCCESS);
                response.setBody(Json.write(said).getBytes(StandardCharsets.US_ASCII));
            }
            return response;
        };
        return (RemotingClient) Proxy.newProxyInstance(
            Stubs.class.getClassLoader(), new Class<?>[] {RemotingClient.class}, handler);
    }
}
